/** Scenarios that the simulator runs beside its cluster (docs/reference/rest.md). */

import { parseDocument } from "yaml";
import { ApiError, ask, askJson, type FileMistake } from "./http";
import { type Mistake, yamlMistakes } from "./manifests";
import { type Field, fieldsBelow, type JsonSchema } from "./schemas";

export interface Listed {
  name: string;
  about: string;
}

export interface Offered {
  scenarios: Listed[];
  configurations: Listed[];
  atOnce: number;
  kept: number;
  seconds: number;
}

/** A scheduler configuration: one of those on offer, or with a text of its own; `{}` is the scenario's own. */
export interface Configuration {
  name?: string;
  text?: string;
}

/** A scenario by name, or as it is written, or both: the text in place of the file's. */
export interface Written {
  scenario?: string;
  text?: string;
}

export type State = "waiting" | "running" | "finished" | "cancelled" | "failed";

export interface Progress {
  seed: number;
  /** The place of the configuration that is being run. */
  variant: number;
  time_s: number;
  until_s: number | null;
  done?: number;
  seeds?: number;
}

export interface ScenarioRun {
  id: string;
  kind: "run" | "comparison";
  scenario: string;
  configurations: string[];
  seeds: string;
  state: State;
  created: string;
  began: string | null;
  ended: string | null;
  error: { message: string; location?: string; hint?: string } | null;
  progress: Progress | null;
  hasResult: boolean;
  files: string[];
}

/** A sample of the cluster. */
export interface Row {
  time_s: number;
  variant: number;
  [column: string]: number;
}

export interface Told {
  run: ScenarioRun;
  rows: Row[];
  fresh: boolean;
}

export interface Known {
  name: string;
  unit: string;
  better: "lower" | "higher" | "";
  text: string;
}

export type Points = [number, number][];

export type Series = Record<string, { unit: string; text: string; points: Points }>;

export interface RunResult {
  scenario: string;
  seed: number;
  scheduler_config: string;
  service_time: string;
  ended: string;
  digest: string;
  metrics: (Known & { value: number })[];
  verdicts: { text: string; place: string; holds: boolean; found: string; pods: string[] }[];
  problems: string[];
  series: Series;
  waits: number[];
  attempts: Record<string, number>;
  waiting: {
    pods: number;
    shown: { namespace: string; pod: string; created_s: number; reason: string; message: string }[];
  };
}

export interface Difference {
  mean: number;
  low: number | null;
  high: number | null;
  clear: boolean;
}

interface DecisionTable {
  selected: string;
  message: string;
  plugins: string[];
  rows: { node: string; total: number; scores: number[] }[];
}

export interface Moved {
  seed: number;
  pod: string;
  before: string;
  after: string;
  cause: string;
  how: string;
  plugin: string;
  reason: string;
  decisions?: [DecisionTable, DecisionTable];
}

export interface ComparedMetric extends Known {
  values: (number | null)[][];
  means: (number | null)[];
  differences: (Difference | null)[];
}

export interface ComparisonResult {
  scenario: string;
  serviceTime: string;
  configs: string[];
  seeds: number[];
  interrupted: boolean;
  metrics: ComparedMetric[];
  digests: string[][];
  failed: string[][][];
  moved: { config: string; pods: number; byPlugin: Record<string, number>; described: Moved[] }[];
  series: Series[];
  waits: number[][];
}

export interface Result {
  runs?: RunResult[];
  warnings?: string[];
  comparison?: ComparisonResult;
}

const RUNS = "/api/v1/scenario-runs";

export function offered(signal: AbortSignal): Promise<Offered> {
  return askJson("/api/v1/scenarios", { signal });
}

export async function textOf(name: string): Promise<string> {
  return (await askJson<{ text: string }>(`/api/v1/scenarios/${encodeURIComponent(name)}`)).text;
}

export async function runs(signal: AbortSignal): Promise<ScenarioRun[]> {
  return (await askJson<{ runs: ScenarioRun[] }>(RUNS, { signal })).runs;
}

export function startRun(body: Written & { configuration: Configuration; seed?: number }): Promise<ScenarioRun> {
  return askJson(RUNS, { method: "POST", body });
}

export function startComparison(
  body: (Written & { configurations: Configuration[]; seeds: string }) | { first: string; second: string },
): Promise<ScenarioRun> {
  return askJson("/api/v1/scenario-comparisons", { method: "POST", body });
}

export function progressOf(id: string, signal: AbortSignal): Promise<Response> {
  return ask(`${RUNS}/${id}/progress`, { signal });
}

export function resultOf(id: string, signal: AbortSignal): Promise<{ run: ScenarioRun; result: Result | null }> {
  return askJson(`${RUNS}/${id}`, { signal });
}

export function cancel(id: string): Promise<unknown> {
  return askJson(`${RUNS}/${id}/cancel`, { method: "POST" });
}

export function forget(id: string): Promise<unknown> {
  return askJson(`${RUNS}/${id}`, { method: "DELETE" });
}

export async function fileOf(id: string, name: string): Promise<Blob> {
  return (await ask(`${RUNS}/${id}/files/${name.split("/").map(encodeURIComponent).join("/")}`)).blob();
}

// --- Writing one ------------------------------------------------------------------------------------------------------

/**
 * What is wrong with a text; the server looks at it once it is YAML. `ofConfiguration`: the text is that of the
 * configuration, not of the scenario.
 */
export async function mistakesOf(
  text: string,
  body: Written & { configuration?: Configuration },
  ofConfiguration: boolean,
): Promise<Mistake[]> {
  const broken = yamlMistakes(parseDocument(text, { version: "1.1" }));
  if (broken.length) return broken;
  const { mistakes } = await askJson<{ mistakes: FileMistake[] }>("/api/v1/scenario-checks", { method: "POST", body });
  const isOurs = ({ location }: FileMistake) => !ofConfiguration || location === body.configuration?.name;
  return mistakes.filter(isOurs).map(({ message, location, hint }) => {
    const line = Number(/:(\d+)$/.exec(location)?.[1] ?? 1);
    return { ...lineOf(text, line), message: hint ? `${message}\n${hint}` : message, severity: "error" };
  });
}

/** The place of a line, counted from 1. */
function lineOf(text: string, line: number): { from: number; to: number } {
  const lines = text.split("\n");
  const at = Math.min(line, lines.length) - 1;
  const from = lines.slice(0, at).reduce((sum, one) => sum + one.length + 1, 0);
  return { from, to: from + (lines[at]?.length ?? 0) };
}

let schema: Promise<JsonSchema> | undefined;

export async function scenarioFieldsAt(path: string[]): Promise<Field[]> {
  schema ??= askJson<JsonSchema>("/api/v1/scenario-schema");
  schema.catch(() => {
    schema = undefined;
  });
  const root = await schema;
  return fieldsBelow(root, root.$defs ?? {}, path);
}

/** An error that has several mistakes is told whole; of files the folder says nothing here. */
export function wholeError(error: unknown): unknown {
  if (!(error instanceof ApiError) || !error.mistakes.length) return error;
  const words = error.mistakes.map(({ location, message, hint }) => {
    const place = location.slice(location.lastIndexOf("/") + 1);
    return [place && `${place}: `, message, hint && ` (${hint})`].join("");
  });
  return new ApiError(error.status, words.join("\n"));
}
