/** Draws the map on a canvas: all of it, or only nodes that have changed. */

import { heat, type Palette } from "./colours";
import { LABEL_HEIGHT, type Layout, type Tile } from "./layout";
import { amount, type MapModel, type MapPod } from "./model";

/** Colours of the style sheet. */
export interface Ink {
  surface: string;
  text: string;
  muted: string;
  line: string;
  bad: string;
}

export interface Drawing {
  model: MapModel;
  layout: Layout;
  resource: string;
  isHeat: boolean;
  palette: Palette;
  ink: Ink;
}

const NAME_SIDE_MIN = 64;
const PERCENT_SIDE_MIN = 30;
const FONT = "12px system-ui, sans-serif";

export function paintAll(canvas: CanvasRenderingContext2D, drawing: Drawing, width: number): void {
  canvas.clearRect(0, 0, width, drawing.layout.height);
  canvas.textBaseline = "middle";
  for (const box of drawing.layout.boxes) {
    if (box.name) {
      canvas.font = `600 ${FONT}`;
      canvas.fillStyle = drawing.ink.text;
      clipped(canvas, `${box.name} (${box.tiles.length})`, box.x, box.y + LABEL_HEIGHT / 2, box.width);
    }
    for (const tile of box.tiles) paintTile(canvas, drawing, tile);
  }
}

export function paintTile(canvas: CanvasRenderingContext2D, drawing: Drawing, tile: Tile): void {
  const { model, layout, resource, ink } = drawing;
  const node = model.nodes.get(tile.node);
  if (!node) return;
  const gap = layout.side > 20 ? 4 : 1;
  const side = layout.side - gap;
  canvas.clearRect(tile.x, tile.y, layout.side, layout.side);
  canvas.fillStyle = ink.surface;
  canvas.fillRect(tile.x, tile.y, side, side);
  const share = model.share(tile.node, resource);
  if (drawing.isHeat) {
    canvas.fillStyle = heat(share, drawing.palette.isDark);
    canvas.fillRect(tile.x, tile.y, side, side);
  } else {
    for (const part of stripes(model, tile, resource, side)) {
      canvas.fillStyle = drawing.palette.of(part.pod);
      canvas.fillRect(tile.x, part.y, side, Math.max(part.height - (part.height > 5 ? 1 : 0), 0.5));
    }
  }
  const isWell = node.ready && !node.unschedulable;
  canvas.strokeStyle = isWell ? ink.line : ink.bad;
  canvas.lineWidth = isWell || layout.side < 12 ? 1 : 2;
  canvas.setLineDash(node.ready ? (node.unschedulable ? [3, 3] : []) : [1, 2]);
  canvas.strokeRect(tile.x + 0.5, tile.y + 0.5, side - 1, side - 1);
  canvas.setLineDash([]);
  writeOn(canvas, drawing, tile, side, share);
}

function writeOn(canvas: CanvasRenderingContext2D, drawing: Drawing, tile: Tile, side: number, share: number): void {
  if (side < PERCENT_SIDE_MIN) return;
  canvas.font = FONT;
  const percent = `${Math.round(share * 100)}%`;
  // A ground of its own keeps words readable on every colour.
  const line = (text: string, y: number) => {
    const width = Math.min(canvas.measureText(text).width + 4, side - 4);
    canvas.fillStyle = drawing.ink.surface;
    canvas.globalAlpha = 0.85;
    canvas.fillRect(tile.x + 2, y - 8, width, 16);
    canvas.globalAlpha = 1;
    canvas.fillStyle = drawing.ink.text;
    clipped(canvas, text, tile.x + 4, y, side - 8);
  };
  if (side >= NAME_SIDE_MIN) {
    line(tile.node, tile.y + 11);
    line(percent, tile.y + 28);
  } else line(percent, tile.y + 11);
}

function clipped(canvas: CanvasRenderingContext2D, text: string, x: number, y: number, width: number): void {
  let shown = text;
  while (shown.length > 1 && canvas.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  canvas.fillText(shown, x, y);
}

interface Stripe {
  key: string;
  pod: MapPod;
  y: number;
  height: number;
}

/** The pods of a tile from the bottom up, each as high as its part of the node. */
function stripes(model: MapModel, tile: Tile, resource: string, side: number): Stripe[] {
  const allocatable = model.nodes.get(tile.node)?.allocatable[resource] ?? 0;
  if (!allocatable) return [];
  const pods = model.podsOf(tile.node).sort(([, a], [, b]) => (a.workload < b.workload ? -1 : 1));
  // What is more than full is squeezed into the tile.
  const scale = side / Math.max(allocatable, model.used(tile.node, resource));
  let y = tile.y + side;
  return pods.flatMap(([key, pod]) => {
    const height = amount(pod, resource) * scale;
    if (!height) return [];
    y -= height;
    return [{ key, pod, y, height }];
  });
}

/** What is at a place: a node, and the pod whose stripe it is. */
export function hit(drawing: Drawing, x: number, y: number): { tile: Tile; pod?: [string, MapPod] } | undefined {
  const { layout, model, resource, isHeat } = drawing;
  for (const box of layout.boxes) {
    for (const tile of box.tiles) {
      if (x < tile.x || y < tile.y || x >= tile.x + layout.side || y >= tile.y + layout.side) continue;
      if (isHeat || layout.side < PERCENT_SIDE_MIN) return { tile };
      const side = layout.side - 4;
      const stripe = stripes(model, tile, resource, side).find((one) => y >= one.y && y < one.y + one.height);
      return stripe ? { tile, pod: [stripe.key, stripe.pod] } : { tile };
    }
  }
  return undefined;
}
