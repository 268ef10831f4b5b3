/** The lessons that there are, in the order in which they build upon each other. */

import { type Lesson, read } from "./lesson";

const files = import.meta.glob<string>("./lessons/*.yaml", { query: "?raw", import: "default", eager: true });

/** `lessons/10-cycle.yaml` is the lesson `cycle`. */
const byId = new Map(
  Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, file]) => [path.replace(/^.*\/\d+-|\.yaml$/g, ""), file] as const),
);

export const LESSONS: Lesson[] = [...byId].map(([id, file]) => read(id, file));

/** A lesson with the names of a run; undefined when there is none of that name. */
export function lessonOf(id: string, suffix = ""): Lesson | undefined {
  const file = byId.get(id);
  return file === undefined ? undefined : read(id, file, suffix);
}
