/**
 * How far somebody is, kept in this browser: what was answered, and which runs were begun. Other tabs write the same
 * place, so it is read anew before each change; a run belongs to the tab that holds the lock of its name.
 */

import { signal } from "@preact/signals";
import type { Trial } from "./outcome";

const KEY = "schedlab-learn";

export interface Answered {
  said: string[];
  isRight: boolean;
}

export interface Run {
  /** Its namespace. */
  name: string;
  uid: string;
  lesson: string;
  step: number;
  /** Whether all objects of the step are there. */
  isBuilt: boolean;
  /** The prediction, once it is made. */
  said?: string[];
  /** What the fixes did on a fork, tried before one of them was made. */
  trials?: Trial[];
}

interface Progress {
  /** By lesson, then by step. */
  answers: Record<string, Record<number, Answered>>;
  runs: Record<string, Run>;
}

function stored(): Progress {
  try {
    return { answers: {}, runs: {}, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { answers: {}, runs: {} };
  }
}

const state = signal(stored());
window.addEventListener("storage", ({ key }) => {
  if (key === KEY || key === null) state.value = stored();
});

/** To be read only; a change goes through the functions below. */
export function progress(): Progress {
  return state.value;
}

function change(how: (now: Progress) => void): void {
  const now = stored();
  how(now);
  localStorage.setItem(KEY, JSON.stringify(now));
  state.value = now;
}

export function keepRun(run: Run): void {
  change((now) => {
    now.runs[run.name] = run;
  });
}

export function forgetRun(name: string): void {
  change((now) => {
    delete now.runs[name];
  });
}

export function keepAnswer(lesson: string, step: number, answered: Answered): void {
  change((now) => {
    now.answers[lesson] = { ...now.answers[lesson], [step]: answered };
  });
}

/** Forget the answers to a lesson. */
export function forgetAnswers(lesson: string): void {
  change((now) => {
    delete now.answers[lesson];
  });
}

const mine = new Set<string>();

/**
 * Take a run for this tab; false while another one has it. The browser gives a lock back when its tab is gone. Pages
 * that did not come safely have no locks: there two tabs may share a run, in which both see the same.
 */
export async function claim(name: string): Promise<boolean> {
  if (mine.has(name) || !navigator.locks) return true;
  const isTaken = await new Promise<boolean>((answer) => {
    const hold = (lock: Lock | null) => {
      answer(lock !== null);
      // Held as long as the tab lives.
      return lock && new Promise<void>(() => undefined);
    };
    void navigator.locks.request(`${KEY}-${name}`, { ifAvailable: true }, hold);
  });
  if (isTaken) mine.add(name);
  return isTaken;
}
