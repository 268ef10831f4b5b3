/** Colours of pods and of heat; each theme has its own, and each can be told from its neighbours and from the ground. */

import type { MapPod } from "./model";

const LIGHT = "#0b6bcb #d9730d #2a8540 #a333c8 #c2185b #00838f #8d6e00 #5c6bc0 #c0392b #5d8a00 #795548 #607d8b".split(
  " ",
);
const DARK = "#5aa9f7 #f5a05a #66c27f #cf8ff0 #f27aa6 #4fc3ce #d9b94a #9aa8f0 #f08a7f #a8cf5a #bf9a8c #9fb3bd".split(
  " ",
);

const PHASES: Record<string, number> = { Running: 2, Pending: 6, Terminating: 11, Unknown: 3, Succeeded: 5, Failed: 8 };

export type Colouring = "workload" | "priority" | "phase";
export const COLOURINGS: readonly Colouring[] = ["workload", "priority", "phase"];

/** Gives each value of what pods are coloured by a colour, and keeps to it. */
export class Palette {
  private readonly given = new Map<string, number>();
  readonly isDark: boolean;
  private readonly colouring: Colouring;

  constructor(colouring: Colouring, isDark: boolean) {
    this.colouring = colouring;
    this.isDark = isDark;
  }

  of(pod: MapPod): string {
    const value = this.valueOf(pod);
    let index = this.given.get(value);
    if (index === undefined) {
      index = this.colouring === "phase" ? (PHASES[value] ?? 0) : this.given.size;
      this.given.set(value, index);
    }
    const colours = this.isDark ? DARK : LIGHT;
    return colours[index % colours.length] as string;
  }

  /** The values that most pods have, with their colours. */
  legend(pods: Iterable<MapPod>, most: number): { value: string; colour: string; count: number }[] {
    const counts = new Map<string, { colour: string; count: number }>();
    for (const pod of pods) {
      const value = this.valueOf(pod);
      const known = counts.get(value);
      if (known) known.count += 1;
      else counts.set(value, { colour: this.of(pod), count: 1 });
    }
    const found = [...counts].map(([value, one]) => ({ value, ...one }));
    return found.sort((a, b) => b.count - a.count).slice(0, most);
  }

  valueOf(pod: MapPod): string {
    return this.colouring === "priority" ? `${pod.priority}` : pod[this.colouring];
  }
}

/** How full a node is: the fuller, the further from the ground; told by lightness, so by every eye. */
export function heat(share: number, isDark: boolean): string {
  const part = Math.min(1, share);
  return `hsl(${52 - 45 * part} 85% ${isDark ? 16 + 44 * part : 93 - 53 * part}%)`;
}
