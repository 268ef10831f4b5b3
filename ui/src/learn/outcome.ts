/** What the scheduler really did, in the form in which it was predicted. Nothing here comes from the lesson's file. */

import type { Explanation } from "../api/decisions";
import { PENDING, type Question } from "./lesson.ts";

/** What became of the pod when a fix was made on a fork of the cluster. */
export interface Trial {
  fix: string;
  /** Where the pod went; empty when it still waits. */
  node: string;
  why: string;
}

export interface Outcome {
  /** The answer that the cluster gives. */
  was: string[];
  /** The first decision about the pod; none when no scheduler took it up, and then `words` says why. */
  told?: Explanation;
  words: string;
  trials: Trial[];
  /** Pods of others on the nodes of the run; they have a say in its numbers. */
  strangers: string[];
}

export function answerOf(question: Question, told: Explanation | undefined, trials: Trial[]): string[] {
  switch (question.asks) {
    case "node":
      return [told?.selected || PENDING];
    case "plugin":
      return [told?.nodes.find((one) => one.node === question.node)?.failedPlugin ?? ""];
    case "order":
      return (told?.nodes ?? [])
        .filter((one) => one.total !== undefined)
        .toSorted((a, b) => (b.total ?? 0) - (a.total ?? 0))
        .map((one) => one.node);
    case "victims":
      return (told?.preemption?.victims ?? []).map((pod) => pod.replace(/^.*\//, ""));
    case "fix":
      return trials.filter((trial) => trial.node).map((trial) => trial.fix);
  }
}
