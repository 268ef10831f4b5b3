/** What is kept of the past, and the moment of it that is shown (docs/reference/rest.md#past). */

import { signal } from "@preact/signals";
import { at } from "../shell/router";
import { askJson } from "./http";

export interface Bounds {
  oldest: number;
  newest: number;
  /** Empty where it is not known. */
  oldestTime: string;
  newestTime: string;
  /** How many revisions are kept at least; with 0 there is no past. */
  history: number;
  /** Whether nothing has been forgotten. */
  whole: boolean;
  /** By part of the past its first revision, and how many attempts were scheduled, unschedulable, in error. */
  marks: [number, number, number, number][];
}

export interface AttemptThen {
  namespace: string;
  pod: string;
  uid: string;
  attempt: number;
  revision: number;
  time: string;
  result: string;
  node: string;
}

export interface Moment {
  revision: number;
  time: string;
  attempts: AttemptThen[];
  count: number;
  previous: AttemptThen | null;
  next: AttemptThen | null;
}

/** Which attempts are meant: of all pods or one, with any result or one. */
export interface Which {
  namespace?: string;
  pod?: string;
  result?: string;
}

export function bounds(signal: AbortSignal): Promise<Bounds> {
  return askJson("/api/v1/past", { signal });
}

export function momentOf(revision: number, which: Which, signal: AbortSignal): Promise<Moment> {
  const query = new URLSearchParams(Object.entries(which).filter(([, value]) => value));
  return askJson(`/api/v1/past/${revision}?${query}`, { signal });
}

/** The moment that was told of last; it is the one shown when its revision is `at`. */
export const moment = signal<Pick<Moment, "revision" | "time">>();

/** The time of what is shown, in milliseconds of the epoch. */
export function timeShown(): number {
  const known = moment.value?.revision === at.value ? Date.parse(moment.value?.time ?? "") : Number.NaN;
  return Number.isNaN(known) ? Date.now() : known;
}
