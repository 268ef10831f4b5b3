/** Lines in a chart, with the values under the pointer, or under a mark that arrow keys move. */

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { Points } from "../api/scenarios";
import { roundTop, valueWords } from "./numbers";

export interface Line {
  name: string;
  points: Points;
}

interface ChartProps {
  title: string;
  about?: ComponentChildren;
  lines: Line[];
  /** Units of the values, and of what they stand over. */
  unit: string;
  over: "s" | "";
  /** Whether a value holds until the next one; else the line goes straight to it. */
  isStepped?: boolean;
}

const WIDTH = 640;
const HEIGHT = 190;
const LEFT = 64;
const RIGHT = 16;
const TOP = 10;
const BOTTOM = 24;
/** How far an arrow key goes. */
const STEP = 1 / 50;

export function Chart({ title, about, lines, unit, over, isStepped = false }: ChartProps) {
  const id = useId();
  const [at, setAt] = useState<number>();
  const drawn = lines.filter((line) => line.points.length);
  const start = Math.min(...drawn.map((line) => line.points[0]?.[0] ?? 0), 0);
  const last = Math.max(...drawn.map((line) => line.points.at(-1)?.[0] ?? 0), start);
  const end = last > start ? last : start + 1;
  const top = roundTop(Math.max(0, ...drawn.flatMap((line) => line.points.map(([, value]) => value))));
  const x = (value: number) => LEFT + ((WIDTH - LEFT - RIGHT) * (value - start)) / (end - start);
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);

  function point(event: PointerEvent) {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    setAt(start + ((end - start) * Math.min(WIDTH - RIGHT - LEFT, Math.max(0, place - LEFT))) / (WIDTH - LEFT - RIGHT));
  }

  function press(event: KeyboardEvent) {
    const step = { ArrowRight: STEP, ArrowLeft: -STEP }[event.key];
    if (event.key === "Escape") setAt(undefined);
    if (!step) return;
    event.preventDefault();
    const now = at ?? (step > 0 ? start : end);
    setAt(Math.min(end, Math.max(start, now + step * (end - start))));
  }

  const words = drawn.map(({ name, points }) => `${name}: ${valueWords(points.at(-1)?.[1], unit)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption id={id}>
        <strong>{title}</strong> {about && <span class="muted">{about}</span>}
      </figcaption>
      <div
        role="application"
        aria-labelledby={id}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
        tabIndex={0}
        onKeyDown={press}
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
      >
        <svg class="picture" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}. ${words}`}>
          {[0, 0.5, 1].map((part) => (
            <g key={part}>
              <path d={`M${LEFT} ${y(top * part)}H${WIDTH - RIGHT}`} class="rule" />
              <text x={LEFT - 6} y={y(top * part) + 4} text-anchor="end">
                {valueWords(top * part, unit)}
              </text>
            </g>
          ))}
          {[0, 0.5, 1].map((part) => (
            <text
              key={part}
              x={x(start + (end - start) * part)}
              y={HEIGHT - 6}
              text-anchor={part === 0 ? "start" : part === 1 ? "end" : "middle"}
            >
              {valueWords(start + (end - start) * part, over)}
            </text>
          ))}
          {drawn.map((line) => (
            <path key={line.name} d={pathOf(line.points, x, y, isStepped)} class={`line line-${lines.indexOf(line)}`}>
              <title>{drawn.length > 1 ? line.name : title}</title>
            </path>
          ))}
          {at !== undefined && <path d={`M${x(at)} ${TOP}V${HEIGHT - BOTTOM}`} class="mark" />}
        </svg>
      </div>
      <p class="readout" aria-live="polite">
        {at === undefined ? (
          drawn.length > 1 && drawn.map((line) => <Key key={line.name} place={lines.indexOf(line)} name={line.name} />)
        ) : (
          <>
            {valueWords(at, over)}
            {drawn.map((line) => (
              <Key
                key={line.name}
                place={lines.indexOf(line)}
                name={`${drawn.length > 1 ? `${line.name}: ` : ""}${valueWords(valueAt(line.points, at, isStepped), unit)}`}
              />
            ))}
          </>
        )}
      </p>
    </figure>
  );
}

function Key({ place, name }: { place: number; name: string }) {
  return (
    <span class="key">
      <svg class="key-line" viewBox="0 0 24 8" aria-hidden="true">
        <path d="M0 4H24" class={`line line-${place}`} />
      </svg>
      {name}
    </span>
  );
}

function pathOf(points: Points, x: (at: number) => number, y: (value: number) => number, isStepped: boolean): string {
  const [first, ...others] = points;
  if (!first) return "";
  const parts = [`M${x(first[0]).toFixed(1)} ${y(first[1]).toFixed(1)}`];
  for (const [at, value] of others) {
    const [left, high] = [x(at).toFixed(1), y(value).toFixed(1)];
    parts.push(isStepped ? `H${left}V${high}` : `L${left} ${high}`);
  }
  return parts.join("");
}

/** The value at a place: that of the last point before it, or between two of them. */
export function valueAt(points: Points, at: number, isStepped: boolean): number | undefined {
  let before: [number, number] | undefined;
  for (const point of points) {
    if (point[0] > at) {
      if (isStepped || !before) return before?.[1];
      return before[1] + ((point[1] - before[1]) * (at - before[0])) / (point[0] - before[0]);
    }
    before = point;
  }
  return before?.[1];
}
