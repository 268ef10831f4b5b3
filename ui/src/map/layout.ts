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
/** Boxes are so many times wider than high. */
const ASPECT = 1.8;

/** `label:KEY`, `taints` or empty: which group a node belongs to. */
export function groupOf(node: MapNode, grouping: string): string {
  if (grouping === "taints") return node.taints.join(", ") || "–";
  if (grouping.startsWith("label:")) return node.labels[grouping.slice("label:".length)] ?? "–";
  return "";
}

const collator = new Intl.Collator("en", { numeric: true });

/** Put nodes into groups, both in the order of their names. */
export function groups(nodes: ReadonlyMap<string, MapNode>, grouping: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of [...nodes.keys()].sort(collator.compare)) {
    const group = groupOf(nodes.get(name) as MapNode, grouping);
    const members = found.get(group);
    if (members) members.push(name);
    else found.set(group, [name]);
  }
  return new Map([...found].sort(([a], [b]) => collator.compare(a, b)));
}

/** The layout with the biggest tiles that fits; with the smallest ones it may be higher than `height`. */
export function layout(grouped: ReadonlyMap<string, string[]>, width: number, height: number): Layout {
  let low = SIDE_MIN;
  let high = SIDE_MAX;
  while (low < high) {
    const side = Math.ceil((low + high) / 2);
    if (flow(grouped, width, side).height <= height) low = side;
    else high = side - 1;
  }
  return flow(grouped, width, low);
}

function flow(grouped: ReadonlyMap<string, string[]>, width: number, side: number): Layout {
  const boxes: Box[] = [];
  let x = 0;
  let y = 0;
  let lineHeight = 0;
  for (const [name, members] of grouped) {
    const wanted = Math.ceil(Math.sqrt(members.length * ASPECT));
    const columns = Math.max(
      1,
      Math.min(members.length, grouped.size === 1 ? members.length : wanted, Math.floor(width / side)),
    );
    const boxWidth = Math.min(width, Math.max(columns * side, BOX_WIDTH_MIN));
    if (x && x + boxWidth > width) {
      x = 0;
      y += lineHeight + GAP;
      lineHeight = 0;
    }
    const top = y + (name ? LABEL_HEIGHT : 0);
    const tiles = members.map((node, index) => ({
      node,
      x: x + (index % columns) * side,
      y: top + Math.floor(index / columns) * side,
    }));
    boxes.push({ name, x, y, width: boxWidth, tiles });
    x += boxWidth + GAP;
    lineHeight = Math.max(lineHeight, top - y + Math.ceil(members.length / columns) * side);
  }
  return { side, height: y + lineHeight, boxes };
}
