/** The answer in one sentence: in the language of the page as far as it can be, and in the simulator's own words. */

import type { Explanation } from "../api/decisions";
import { texts } from "../texts";

export function AnswerOf({ told }: { told: Explanation }) {
  const t = texts.value.pod;
  // What ours would have done with a pod of others is told in the simulator's words only.
  const own = told.placedBy ? "" : t.answer(factsOf(told));
  return (
    <>
      {told.placedBy && (
        <p>
          {t.placedBy} <span lang="en">{told.placedBy.text}</span>
        </p>
      )}
      {own && <p class={told.selected ? "answer" : "answer waits"}>{own}</p>}
      <p class={own ? "muted" : told.selected ? "answer" : "answer waits"} lang="en">
        {told.answer}
      </p>
    </>
  );
}

/** What a sentence about a decision may tell. */
export interface AnswerFacts {
  pod: string;
  /** Empty where no node was chosen. */
  selected: string;
  nodes: number;
  total?: number;
  margin?: number;
  tied: number;
  candidates: number;
  /** Who turned down how many nodes, most first; empty where no node was looked at. */
  turnedDown: [plugin: string, nodes: number][];
}

function factsOf({ pod, selected, nodes, choice, result, message }: Explanation): AnswerFacts {
  // Where only some nodes are told of, nothing can be said of all.
  const isWhole = Number(/^\d+\/(\d+) nodes/.exec(message)?.[1] ?? nodes.length) === nodes.length;
  const counts = new Map<string, number>();
  for (const { failedPlugin } of nodes) {
    if (failedPlugin) counts.set(failedPlugin, (counts.get(failedPlugin) ?? 0) + 1);
  }
  return {
    pod: pod.replace(/^.*\//, ""),
    selected: result === "scheduled" ? selected : "",
    nodes: nodes.length,
    ...(choice && { total: choice.total, ...(choice.margin !== null && { margin: choice.margin }) }),
    tied: choice?.tied.length ?? 0,
    candidates: choice?.candidates ?? 0,
    turnedDown: result === "unschedulable" && isWhole ? [...counts].sort(([, a], [, b]) => b - a) : [],
  };
}
