/**
 * The time machine: a slider over the recorded past, on which the attempts of all pods are marked, and steps from attempt
 * to attempt. The moment is part of the place of the page; without one it is now.
 */

import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { type AttemptThen, type Bounds, bounds, type Moment, moment, momentOf, type Which } from "../api/past";
import { useAsked } from "../parts/asked";
import { language, texts } from "../texts";
import { Choice } from "./choice";
import { Problem } from "./problem";
import { amend, at, link, place } from "./router";
import { colour, repaint } from "./theme";

const AGAIN_MS = 10_000;
/** What a slider passes on its way is not asked for. */
const PAUSE_MS = 150;
const SHOWN = 3;

const CHOICES = ["all", "failed", "pod"] as const;
type Chosen = (typeof CHOICES)[number];

export function TimeBar() {
  const t = texts.value.time;
  const turn = useTurns();
  const { value: kept, error } = useAsked((signal) => bounds(signal), [turn, at.value !== 0]);
  const [chosen, setChosen] = useState<Chosen>("all");
  const pod = podOfPage();
  const which = whichOf(chosen, pod);
  const revision = at.value || kept?.newest || 0;
  const { value: there, error: lost } = useAsked(
    async (signal) => (revision ? momentOf(revision, which, signal) : undefined),
    [revision, JSON.stringify(which)],
  );
  useEffect(() => {
    moment.value = there;
  }, [there]);
  return (
    <section class={at.value ? "time past" : "time"} aria-label={t.title}>
      {error !== undefined && <Problem error={error} />}
      {lost !== undefined && at.value !== 0 && <Problem error={lost} />}
      {kept && kept.history === 0 && <p>{t.none}</p>}
      {kept && kept.history > 0 && <Slider kept={kept} there={there} />}
      <div class="toolbar">
        <Shown there={there} />
        {at.value !== 0 && (
          <button type="button" class="primary" onClick={() => amend({ at: "" })}>
            {t.now}
          </button>
        )}
        {kept && kept.history > 0 && (
          <Steps there={there} chosen={chosen} hasPod={pod !== undefined} onChoose={setChosen} />
        )}
        <a class="button" href={link(["what-if"])}>
          {t.whatIf}
        </a>
      </div>
      {kept && kept.history > 0 && <p class="muted">{limits(kept)}</p>}
    </section>
  );
}

/** Counts up while the page is seen: the past grows. */
function useTurns(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => !document.hidden && setTurn((now) => now + 1), AGAIN_MS);
    return () => window.clearInterval(timer);
  }, []);
  return turn;
}

/** The pod whose page this is. */
function podOfPage(): { namespace: string; pod: string } | undefined {
  const [page, namespace, pod] = place.value.path;
  return page === "pod" && namespace && pod ? { namespace, pod } : undefined;
}

function whichOf(chosen: Chosen, pod: { namespace: string; pod: string } | undefined): Which {
  if (chosen === "pod") return pod ?? {};
  return chosen === "failed" ? { result: "unschedulable" } : {};
}

function limits(kept: Bounds): string {
  const t = texts.value.time;
  const oldest = kept.oldestTime ? when(kept.oldestTime) : t.revision(kept.oldest);
  return kept.whole ? t.whole(oldest) : t.forgotten(oldest, kept.history);
}

function when(time: string): string {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString(language.value) : date.toLocaleString(language.value);
}

function Slider({ kept, there }: { kept: Bounds; there: Moment | undefined }) {
  const t = texts.value.time;
  const [held, setHeld] = useState<number>();
  const timer = useRef(0);
  const shown = held ?? (at.value || kept.newest);
  useEffect(() => setHeld(undefined), [at.value]);
  useEffect(() => () => window.clearTimeout(timer.current), []);

  function move(revision: number) {
    setHeld(revision);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      setHeld(undefined);
      amend({ at: revision >= kept.newest ? "" : `${revision}` });
    }, PAUSE_MS);
  }

  const time = there?.revision === shown && there.time ? `${when(there.time)}, ` : "";
  return (
    <div class="slider">
      <Marks kept={kept} />
      <input
        type="range"
        min={kept.oldest}
        max={kept.newest}
        value={shown}
        aria-label={t.slider}
        aria-valuetext={shown >= kept.newest ? t.isNow : `${time}${t.revision(shown)}`}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
    </div>
  );
}

const MARKS_HEIGHT = 18;
/** Half a thumb: as far inside the slider its ends lie. */
const INSET = 8;

/** Where pods were tried: the higher, the more; the worst result on top. */
function Marks({ kept }: { kept: Bounds }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const paint = () => paintMarks(element, kept);
    const observer = new ResizeObserver(paint);
    observer.observe(element);
    const stop = effect(() => {
      repaint.value;
      paint();
    });
    return () => {
      observer.disconnect();
      stop();
    };
  }, [kept]);
  return <canvas ref={canvas} />;
}

function paintMarks(element: HTMLCanvasElement, kept: Bounds): void {
  const context = element.getContext("2d");
  const width = element.clientWidth;
  if (!context || !width) return;
  element.width = width * window.devicePixelRatio;
  element.height = MARKS_HEIGHT * window.devicePixelRatio;
  context.scale(window.devicePixelRatio, window.devicePixelRatio);
  const colours = [colour("good"), colour("warning"), colour("bad")];
  const most = Math.max(...kept.marks.map(([, ...counts]) => total(counts)));
  for (const [revision, ...counts] of kept.marks) {
    const x = INSET + ((revision - kept.oldest) / Math.max(1, kept.newest - kept.oldest)) * (width - 2 * INSET);
    // Even one attempt among thousands is seen.
    const height = MARKS_HEIGHT * (0.35 + (0.65 * Math.log1p(total(counts))) / Math.log1p(most));
    let y = MARKS_HEIGHT;
    counts.forEach((count, result) => {
      const part = (height * count) / total(counts);
      context.fillStyle = colours[result] as string;
      context.fillRect(x - 1, y - part, 2, part);
      y -= part;
    });
  }
}

function total(counts: number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Which moment is shown, and what was tried there. */
function Shown({ there }: { there: Moment | undefined }) {
  const t = texts.value.time;
  if (!at.value) return <strong role="status">{t.isNow}</strong>;
  const told = there?.revision === at.value ? there : undefined;
  const time = told?.time ? when(told.time) : "";
  return (
    <span role="status">
      <strong>{t.isPast(time || t.unknown)}</strong> <span class="muted">{t.revision(at.value)}</span>{" "}
      {told?.attempts.slice(0, SHOWN).map((one) => (
        <a key={`${one.uid} ${one.attempt}`} class="chip" href={link(["pod", one.namespace, one.pod])}>
          {label(one)}
        </a>
      ))}
      {told && told.count > SHOWN && t.more(told.count - SHOWN)}
    </span>
  );
}

function label(one: AttemptThen): string {
  const t = texts.value.pod;
  return `${one.namespace}/${one.pod} · ${t.attempt(one.attempt)} · ${one.node || t.results(one.result)}`;
}

interface StepsProps {
  there: Moment | undefined;
  chosen: Chosen;
  hasPod: boolean;
  onChoose(chosen: Chosen): void;
}

function Steps({ there, chosen, hasPod, onChoose }: StepsProps) {
  const t = texts.value.time;
  const step = (to: AttemptThen | null | undefined, words: string, meaning: string) => (
    // It stays what the keyboard is on when there is nothing more in its direction.
    <button
      type="button"
      aria-label={meaning}
      aria-disabled={to ? undefined : "true"}
      title={to ? label(to) : undefined}
      onClick={() => to && amend({ at: `${to.revision}` })}
    >
      {words}
    </button>
  );
  return (
    <>
      <Choice
        label={t.attempts}
        value={chosen}
        options={CHOICES.filter((one) => one !== "pod" || hasPod).map((one) => [one, t.choices[one]])}
        onChoose={(one) => onChoose(one as Chosen)}
      />
      {step(there?.previous, t.previous, t.previousAttempt)}
      {step(there?.next, t.next, t.nextAttempt)}
    </>
  );
}
