/** Where nodes are on the map: tiles as big as the place allows, in boxes by group that flow like words. */

import type { MapNode } from "./model";

export interface Tile {
  node: string;
  x: number;
  y: number;
}

export interface Box {
  name: string;
  x: number;
  y: number;
  width: number;
  tiles: Tile[];
}

export interface Layout {
  /** The side of a tile, gap included. */
  side: number;
  height: number;
  boxes: Box[];
}

export const LABEL_HEIGHT = 20;
const GAP = 14;
const BOX_WIDTH_MIN = 110;
const SIDE_MIN = 7;
const SIDE_MAX = 150;
/** How many times wider than high boxes may be; the one that leaves room for the biggest tiles is taken. */
const ASPECTS = [1.8, 1, 0.5, 3, 6, 12];

/** How nodes are grouped: by `label:KEY`, `taints` or not; and the name of the group of those that have none of it. */
export interface Grouping {
  by: string;
  without: string;
}

/** Which group a node belongs to. */
export function groupOf(node: MapNode, { by, without }: Grouping): string {
  if (by === "taints") return node.taints.join(", ") || without;
  if (!by.startsWith("label:")) return "";
  const key = by.slice("label:".length);
  const value = node.labels[key];
  // A label may be there and empty: that is told as kubectl writes it.
  return value === undefined ? without : value || `${key}=`;
}

const collator = new Intl.Collator("en", { numeric: true });

/** Put nodes into groups, both in the order of their names; those that are in none come last. */
export function groups(nodes: ReadonlyMap<string, MapNode>, grouping: Grouping): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of [...nodes.keys()].sort(collator.compare)) {
    const group = groupOf(nodes.get(name) as MapNode, grouping);
    const members = found.get(group);
    if (members) members.push(name);
    else found.set(group, [name]);
  }
  const isLast = (name: string) => Number(name === grouping.without);
  return new Map([...found].sort(([a], [b]) => isLast(a) - isLast(b) || collator.compare(a, b)));
}

/** The layout with the biggest tiles that fits; with the smallest ones it may be higher than `height`. */
export function layout(grouped: ReadonlyMap<string, string[]>, width: number, height: number): Layout {
  const sizes = [...grouped.values()].map((members) => members.length);
  const isNamed = grouped.size > 1 || !grouped.has("");
  let best = { side: 0, aspect: 1 };
  for (const aspect of ASPECTS) {
    let low = SIDE_MIN;
    let high = SIDE_MAX;
    while (low < high) {
      const side = Math.ceil((low + high) / 2);
      if (flow(sizes, width, side, aspect, isNamed).height <= height) low = side;
      else high = side - 1;
    }
    if (low > best.side) best = { side: low, aspect };
  }
  const { side, aspect } = best;
  const { frames, height: found } = flow(sizes, width, side, aspect, isNamed);
  const boxes = [...grouped].map(([name, members], index) => {
    const { x, y, columns, width: boxWidth } = frames[index] as Frame;
    const top = y + (isNamed ? LABEL_HEIGHT : 0);
    const tiles = members.map((node, at) => ({
      node,
      x: x + (at % columns) * side,
      y: top + Math.floor(at / columns) * side,
    }));
    return { name, x, y, width: boxWidth, tiles };
  });
  return { side, height: found, boxes };
}

interface Frame {
  x: number;
  y: number;
  width: number;
  columns: number;
}

/** Where boxes for so many nodes go, each `aspect` times as wide as high. */
function flow(sizes: number[], width: number, side: number, aspect: number, isNamed: boolean) {
  const frames: Frame[] = [];
  let x = 0;
  let y = 0;
  let lineHeight = 0;
  for (const size of sizes) {
    const columns = Math.max(1, Math.min(size, Math.ceil(Math.sqrt(size * aspect)), Math.floor(width / side)));
    const boxWidth = Math.min(width, Math.max(columns * side, isNamed ? BOX_WIDTH_MIN : 0));
    if (x && x + boxWidth > width) {
      x = 0;
      y += lineHeight + GAP;
      lineHeight = 0;
    }
    frames.push({ x, y, width: boxWidth, columns });
    x += boxWidth + GAP;
    lineHeight = Math.max(lineHeight, (isNamed ? LABEL_HEIGHT : 0) + Math.ceil(size / columns) * side);
  }
  return { frames, height: y + lineHeight };
}
