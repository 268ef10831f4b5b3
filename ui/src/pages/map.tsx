/** The cluster at a glance: nodes as tiles, filled by what their pods ask for. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { identity } from "../api/connection";
import { ApiError, ask, lines } from "../api/http";
import { Stream } from "../api/stream";
import { COLOURINGS, type Colouring, Palette } from "../map/colours";
import { type Grouping, groups, type Layout, layout } from "../map/layout";
import { amount, MapModel, type MapPod, type SentLine, whole, words } from "../map/model";
import { type Drawing, hit, paintAll, paintTile } from "../map/paint";
import { PAGES, type PageProps } from "../pages";
import type { NodeTableProps } from "../parts/node-table";
import { useLate } from "../shell/away";
import { Choice } from "../shell/choice";
import { Problem } from "../shell/problem";
import { amend, at, link, placeOf } from "../shell/router";
import { Stray } from "../shell/stray";
import { colour, repaint, theme } from "../shell/theme";
import { texts } from "../texts";

const BATCH_MS = 150;
const LOADING_MS = 400;
const ZONE = "label:topology.kubernetes.io/zone";
const RESOURCE = "cpu";

export default function ClusterMap({ query }: PageProps) {
  const t = texts.value.map;
  const [held, setHeld] = useState<Held>(() => ({ model: new MapModel(), cluster: "" }));
  const [version, setVersion] = useState(0);
  const [isComplete, setComplete] = useState(false);
  const [error, setError] = useState<unknown>();
  const moment = at.value;
  useEffect(() => {
    setError(undefined);
    const completed = () => setComplete(true);
    const changed = () => setVersion((now) => now + 1);
    return follow(held, moment, { show: setHeld, changed, completed, failed: setError });
  }, [moment]);
  const { model } = held;

  const resources = useMemo(() => model.resources(), [model, model.nodesVersion]);
  const labels = useMemo(() => model.labels(), [model, model.nodesVersion]);
  const by = query.get("group") ?? (labels.includes(ZONE.slice("label:".length)) ? ZONE : "");
  const fill = query.get("fill") ?? RESOURCE;
  const colouring = COLOURINGS.find((one) => one === (query.get("colour") ?? "workload"));
  const isStrayFill = resources.length > 0 && fill !== RESOURCE && !resources.includes(fill);
  const view: View = {
    grouping: { by, without: t.without(by === "taints" ? t.taints.toLowerCase() : by.replace(/^label:(.*\/)?/, "")) },
    resource: isStrayFill ? RESOURCE : fill,
    colouring: colouring ?? "workload",
    isHeat: query.get("mode") === "heat",
  };
  const isTable = query.get("view") === "table";
  const waiting = model.podsOf("");
  const keys = by.startsWith("label:") ? [...new Set([...labels, by.slice("label:".length)])] : labels;
  const groupings = [["none", t.ungrouped], ["taints", t.taints], ...keys.map((key) => [`label:${key}`, key])] as [
    string,
    string,
  ][];
  return (
    <>
      <h1>{texts.value.pages.map}</h1>
      {error !== undefined && <Problem error={error} />}
      {isStrayFill && <Stray name="fill" />}
      {!colouring && <Stray name="colour" />}
      <div class="toolbar">
        <Choice label={t.group} value={by || "none"} options={groupings} onChoose={(group) => amend({ group })} />
        <Choice
          label={t.fill}
          value={view.resource}
          options={resources.map((name) => [name, name])}
          onChoose={(fill) => amend({ fill })}
        />
        <Choice
          label={t.show}
          value={isTable ? "table" : view.isHeat ? "heat" : "pods"}
          options={[
            ["pods", t.pods],
            ["heat", t.heat],
            ["table", t.table],
          ]}
          onChoose={(chosen) =>
            amend({ mode: chosen === "heat" ? "heat" : "", view: chosen === "table" ? "table" : "" })
          }
        />
        {!isTable && !view.isHeat && (
          <Choice
            label={t.colour}
            value={view.colouring}
            options={COLOURINGS.map((one) => [one, t.colourings[one]])}
            onChoose={(chosen) => amend({ colour: chosen })}
          />
        )}
        <span class="muted" role="status">
          {t.summary(model.nodes.size, model.pods.size, waiting.length)}
        </span>
      </div>
      {isComplete && model.nodes.size === 0 && !moment && (
        <p>
          {t.empty} <a href={link(["create"], { template: "shop" })}>{t.emptyLink}</a>
        </p>
      )}
      <Waiting pods={waiting} />
      {isTable ? (
        <LateTable model={model} version={version} grouping={view.grouping} resources={resources} />
      ) : (
        <Canvas model={model} version={version} view={view} />
      )}
    </>
  );
}

/** The table, which is not loaded before somebody asks for it. */
function LateTable(props: NodeTableProps) {
  const Table = useLate(() => import("../parts/node-table"))?.NodeTable;
  return Table ? <Table {...props} /> : <p>{texts.value.shell.loading}</p>;
}

/** What is shown: the model, and of which cluster it is. */
interface Held {
  model: MapModel;
  cluster: string;
}

interface Follower {
  show(held: Held): void;
  /** The model has changed. */
  changed(): void;
  completed(): void;
  failed(error: unknown): void;
}

/**
 * Keep a model up to date, or bring it to a moment of the past. What is held goes on from its own revision if the cluster
 * still is the same and knows it; else a new model takes its place when it is complete.
 */
function follow(held: Held, at: number, follower: Follower): () => void {
  let timer = 0;
  const tell = (ms: number) => {
    timer ||= window.setTimeout(() => {
      timer = 0;
      follower.changed();
    }, ms);
  };
  let shown = held;
  const stream = new Stream(async (signal, isWell) => {
    if (at && shown.model.revision === at) return forever(signal);
    const { answer, made } = await begin(shown, at, signal);
    // The first one is shown as it comes, unless it has to be led back to the past yet.
    const isFirst = !shown.model.nodes.size && !at;
    if (isFirst) follower.show(made);
    // Until all is there, every picture is of all nodes: few of them leave more time for what comes.
    let batchMs = LOADING_MS;
    for await (const sent of lines<SentLine>(answer)) {
      const line = whole(sent);
      made.model.apply(line);
      if (line.complete) {
        if (shown !== made && !isFirst) follower.show(made);
        shown = made;
        follower.completed();
        isWell();
        batchMs = BATCH_MS;
        // What waits for its turn is not to be late.
        window.clearTimeout(timer);
        timer = 0;
      }
      tell(line.complete ? 0 : batchMs);
    }
    if (at) await forever(signal);
  }, follower.failed);
  stream.start();
  return () => {
    stream.stop();
    window.clearTimeout(timer);
  };
}

/** Ask for what differs from what is held, or for everything. */
async function begin(held: Held, at: number, signal: AbortSignal): Promise<{ answer: Response; made: Held }> {
  const cluster = await identity(signal);
  const { revision } = held.model;
  if (revision && held.cluster === cluster) {
    try {
      return { answer: await ask(mapPath(at, revision), { signal }), made: held };
    } catch (error) {
      // What is held is older than what is kept; whether the moment is, is told below.
      if (!(error instanceof ApiError && error.status === 400)) throw error;
    }
  }
  return { answer: await ask(mapPath(at, 0), { signal }), made: { model: new MapModel(), cluster } };
}

function mapPath(at: number, from: number): string {
  const query = new URLSearchParams({ ...(at && { at: `${at}` }), ...(from && { from: `${from}` }) });
  return `/api/v1/map?${query}`;
}

function forever(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

const WAITING_MAX = 30;

function Waiting({ pods }: { pods: [string, MapPod][] }) {
  const t = texts.value.map;
  if (!pods.length) return null;
  return (
    <p class="waiting">
      <strong>{t.waiting(pods.length)}</strong>{" "}
      {pods.slice(0, WAITING_MAX).map(([key]) => (
        <a key={key} class="chip" href={podPlace(key)}>
          {key}
        </a>
      ))}
      {pods.length > WAITING_MAX && <a href={link(["list", "pods"], { filter: "Pending" })}>{t.more}</a>}
    </p>
  );
}

/** Where a pod is explained, or shown. */
function podPlace(key: string): string {
  const [namespace = "", name = ""] = key.split("/", 2);
  return PAGES.pod ? link(["pod", namespace, name]) : placeOf("pods", { namespace, name });
}

interface View {
  grouping: Grouping;
  resource: string;
  colouring: Colouring;
  isHeat: boolean;
}

interface CanvasProps {
  model: MapModel;
  version: number;
  view: View;
}

interface Pointed {
  x: number;
  y: number;
  side: number;
  node: string;
  pod?: [string, MapPod];
}

function Canvas({ model, version, view }: CanvasProps) {
  const t = texts.value.map;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useRef<{ drawing: Drawing; width: number }>(undefined);
  const [pointed, setPointed] = useState<Pointed>();
  const [size, setSize] = useState({ width: 0, height: 0 });
  const isDark =
    theme.value === "dark" || (theme.value === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  const palette = useMemo(() => new Palette(view.colouring, isDark), [view.colouring, isDark]);

  useEffect(() => {
    const element = frame.current as HTMLElement;
    const measure = () => {
      const { width, top } = element.getBoundingClientRect();
      setSize({ width, height: Math.max(260, window.innerHeight - top - window.scrollY - 24) });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    window.addEventListener("resize", measure);
    return () => {
      observer.disconnect();
      window.removeEventListener("resize", measure);
    };
  }, []);

  // Whatever is seen otherwise than before is drawn anew as a whole.
  const look = `${JSON.stringify(view)} ${isDark} ${repaint.value} ${size.width} ${size.height}`;
  const seen = useRef("");
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !size.width) return;
    const before = drawn.current;
    if (before && before.drawing.model === model && !model.isRearranged && seen.current === look) {
      for (const box of before.drawing.layout.boxes) {
        for (const tile of box.tiles) if (model.dirty.has(tile.node)) paintTile(context, before.drawing, tile);
      }
    } else {
      seen.current = look;
      const drawing = { ...drawingOf(model, view, palette), layout: layoutOf(model, view, size) };
      fit(canvas.current as HTMLCanvasElement, context, size.width, drawing.layout.height);
      paintAll(context, drawing, size.width);
      drawn.current = { drawing, width: size.width };
    }
    model.settled();
  }, [version, model, look]);

  function point(event: PointerEvent) {
    const found = drawn.current && hit(drawn.current.drawing, event.offsetX, event.offsetY);
    setPointed(found && pointedAt(found, drawn.current?.drawing.layout as Layout));
  }

  function open() {
    if (!pointed) return;
    location.hash = pointed.pod ? podPlace(pointed.pod[0]) : placeOf("nodes", { name: pointed.node });
  }

  /** Arrows go from node to node, Enter opens one. */
  function press(event: KeyboardEvent) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") open();
    if (event.key === "Escape") setPointed(undefined);
    if (!step || !drawn.current) return;
    event.preventDefault();
    const plan = drawn.current.drawing.layout;
    const tiles = plan.boxes.flatMap((box) => box.tiles);
    const now = tiles.findIndex((tile) => tile.node === pointed?.node);
    const vertical = event.key === "ArrowDown" || event.key === "ArrowUp";
    const next = vertical ? neighbour(tiles, now, step) : Math.min(tiles.length - 1, Math.max(0, now + step));
    const tile = tiles[next];
    if (tile) setPointed(pointedAt({ tile }, plan));
  }

  return (
    <div class="map" ref={frame}>
      <div
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
        tabIndex={0}
        aria-label={t.label}
        aria-describedby="map-keys"
        onKeyDown={press}
        onPointerMove={point}
        onPointerLeave={() => setPointed(undefined)}
        onClick={open}
      >
        <canvas ref={canvas} />
        {pointed && <Outline at={pointed} />}
      </div>
      <p id="map-keys" class="muted">
        {t.keys}
      </p>
      {!view.isHeat && <Legend model={model} version={version} palette={palette} />}
      <div aria-live="polite" class="visually-hidden">
        {pointed && describe(model, pointed, view.resource)}
      </div>
      {pointed && <Tip model={model} at={pointed} width={size.width} />}
    </div>
  );
}

const LEGEND_MAX = 16;
const LEGEND_MS = 1000;

interface LegendProps {
  model: MapModel;
  version: number;
  palette: Palette;
}

/** What colours mean; counted at most once a second, since it takes a look at every pod. */
function Legend({ model, version, palette }: LegendProps) {
  const [entries, setEntries] = useState<ReturnType<Palette["legend"]>>([]);
  const counted = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const count = () => {
      // The first pods are not to wait.
      if (model.pods.size) counted.current = performance.now();
      setEntries(palette.legend(model.pods.values(), LEGEND_MAX));
    };
    const timer = window.setTimeout(count, counted.current + LEGEND_MS - performance.now());
    return () => window.clearTimeout(timer);
  }, [model, version, palette]);
  return (
    <ul class="legend">
      {entries.map(({ value, colour: shown, count }) => (
        <li key={value}>
          <span style={{ background: shown }} /> {value} ({count})
        </li>
      ))}
    </ul>
  );
}

function drawingOf(model: MapModel, view: View, palette: Palette): Omit<Drawing, "layout"> {
  const ink = {
    surface: colour("surface"),
    text: colour("text"),
    muted: colour("muted"),
    line: colour("line"),
    bad: colour("bad"),
  };
  return { model, resource: view.resource, isHeat: view.isHeat, palette, ink };
}

function layoutOf(model: MapModel, view: View, size: { width: number; height: number }): Layout {
  return layout(groups(model.nodes, view.grouping), size.width, size.height);
}

/** Give a canvas as many dots as the screen has there. */
function fit(canvas: HTMLCanvasElement, context: CanvasRenderingContext2D, width: number, height: number): void {
  const ratio = window.devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function pointedAt(found: NonNullable<ReturnType<typeof hit>>, plan: Layout): Pointed {
  const { tile, pod } = found;
  return { x: tile.x, y: tile.y, side: plan.side, node: tile.node, ...(pod && { pod }) };
}

/** The tile above or below: the nearest in the next line. */
function neighbour(tiles: { x: number; y: number }[], now: number, step: number): number {
  const from = tiles[now];
  if (!from) return 0;
  let best = now;
  let bestDistance = Number.POSITIVE_INFINITY;
  tiles.forEach((tile, index) => {
    const ahead = (tile.y - from.y) * step;
    const distance = ahead * 4 + Math.abs(tile.x - from.x);
    if (ahead > 0 && distance < bestDistance) {
      best = index;
      bestDistance = distance;
    }
  });
  return best;
}

function Outline({ at }: { at: Pointed }) {
  return (
    <div
      class="outline"
      style={{ left: `${at.x}px`, top: `${at.y}px`, width: `${at.side}px`, height: `${at.side}px` }}
    />
  );
}

function describe(model: MapModel, at: Pointed, resource: string): string {
  const t = texts.value.map;
  const state = stateOf(model, at.node);
  return `${at.node}: ${resource} ${Math.round(model.share(at.node, resource) * 100)}%, ${t.podCount(model.podsOf(at.node).length)}${state && `, ${state}`}`;
}

function stateOf(model: MapModel, name: string): string {
  const t = texts.value.map;
  const node = model.nodes.get(name);
  return [node && !node.ready && t.notReady, node?.unschedulable && t.cordoned].filter(Boolean).join(", ");
}

/** What the pointer is over, in words. */
function Tip({ model, at, width }: { model: MapModel; at: Pointed; width: number }) {
  const node = model.nodes.get(at.node);
  if (!node) return null;
  const left = Math.min(at.x + at.side + 8, Math.max(0, width - 300));
  const state = stateOf(model, at.node);
  const [key, pod] = at.pod ?? [];
  return (
    <div class="tip" style={{ left: `${left}px`, top: `${at.y}px` }}>
      <strong>{at.node}</strong>
      {state && <div class="bad">{state}</div>}
      {Object.keys(node.allocatable).map((resource) => (
        <div key={resource}>
          {resource}: {words(model.used(at.node, resource), resource)} /{" "}
          {words(node.allocatable[resource] ?? 0, resource)}
        </div>
      ))}
      {node.taints.map((taint) => (
        <div key={taint} class="muted">
          {taint}
        </div>
      ))}
      {pod && (
        <div class="pod">
          <strong>{key}</strong>
          <div>
            {pod.workload} · {pod.phase} · {texts.value.map.priority(pod.priority)}
          </div>
          {Object.keys(pod.requests).map((resource) => (
            <div key={resource}>
              {resource}: {words(amount(pod, resource), resource)}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
