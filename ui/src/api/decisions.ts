/** What the simulator tells of decisions (docs/reference/rest.md). */

import type { Change } from "./changes";
import { askJson } from "./http";

export interface Status {
  code: string;
  message: string;
}

export interface Score {
  raw: number;
  weight: number;
  final: number;
  formula?: string;
  inputs?: unknown;
  normalization?: string;
  normalizationInputs?: unknown;
}

export interface Fact {
  text: string;
  fits: boolean;
}

export interface NodeVerdict {
  node: string;
  verdict: string;
  /** "passed", or why not; plugins that did not look at the node are not there. */
  plugins: Record<string, string>;
  failedPlugin?: string;
  reasons?: string[];
  facts?: Record<string, Fact[]>;
  total?: number;
  scores?: Record<string, Score>;
}

export interface Versus {
  node: string;
  total: number;
  margin: number;
  byPlugin: Record<string, number>;
}

export interface Choice {
  total: number;
  candidates: number;
  tied: string[];
  margin: number | null;
  weights: Record<string, { weight: number; least: number; greatest: number | null }>;
  luck: { seeds: number; outcomes: Record<string, number> } | null;
  visited: number;
  nodes: number;
}

export interface Candidate {
  node: string;
  victims: string[];
  pdbViolations: number;
  merit?: { brokenBudgets: number; topPriority: number; prioritySum: number; victims: number; start: string };
}

export interface Preemption {
  candidates: Candidate[];
  notCandidates: Record<string, Status>;
  best: string[];
  victims: string[];
  decidedBy: string;
}

export interface Queue {
  place: string;
  since: string;
  attempts: number;
  rejectedBy: string[];
  gatedBy: string;
  backoffEnds?: string;
  flushedAfter?: string;
  wokenBy: { plugin: string; events: string[] }[];
  skipped: { event: string; count: number; last: string; answers: Record<string, string> }[];
}

export interface Explanation {
  pod: string;
  uid: string;
  attempt: number;
  attempts: number[];
  time: string;
  revision: number;
  scheduler: string;
  result: string;
  answer: string;
  message: string;
  selected: string;
  runnerUp: Versus | null;
  versus?: Versus & { of: string };
  choice: Choice | null;
  nodes: NodeVerdict[];
  preemption: Preemption | null;
  extenders: unknown[];
  state: { state: string; text: string };
  queue: Queue | null;
  moves: { time: string; place: string; reason: string }[];
  warnings: string[];
  /** Of a pod that somebody else has placed: who that was. The rest is what ours would have done. */
  placedBy?: { text: string };
}

export interface Asked {
  attempt?: string;
  uid?: string;
  /** One node, or several. */
  node?: string | string[];
  vs?: string;
}

/** Explain an attempt of a pod; of `node` with all that is known of it. */
export function explain(namespace: string, name: string, asked: Asked, signal: AbortSignal): Promise<Explanation> {
  return askJson(explanationPath(namespace, name, asked), { signal });
}

/** Where an explanation can be had as a page that stands alone. */
export function documentOf(namespace: string, name: string, asked: Asked): string {
  return `${explanationPath(namespace, name, asked)}&as=html`;
}

function explanationPath(namespace: string, name: string, asked: Asked): string {
  const { node = [], ...rest } = asked;
  const query = new URLSearchParams(Object.entries(rest).filter(([, value]) => value));
  const nodes = [node].flat().filter(Boolean);
  for (const one of nodes) query.append("node", one);
  query.set("allPlugins", `${nodes.length > 0}`);
  return `/api/v1/decisions/${podPath(namespace, name)}?${query}`;
}

export interface Suggestion {
  kind: string;
  summary: string;
  cost: number;
  node: string;
  changes: Change[];
  commands: string[];
}

export interface Help {
  message: string;
  fits: boolean;
  suggestions: Suggestion[];
}

/** Search the smallest changes that would let a pod be scheduled, or would have at an attempt. */
export function whatWouldHelp(namespace: string, name: string, attempt: string, signal: AbortSignal): Promise<Help> {
  const query = attempt ? `?attempt=${encodeURIComponent(attempt)}` : "";
  return askJson(`/api/v1/pods/${podPath(namespace, name)}/what-would-help${query}`, { signal });
}

export interface Attempt {
  attempt: number;
  time: string;
  result: string;
  node: string;
  message: string;
  uid: string;
  revision: number;
}

/** The attempts of a pod that are recorded, newest first. */
export async function attemptsOf(namespace: string, name: string, signal: AbortSignal): Promise<Attempt[]> {
  const query = new URLSearchParams({ namespace, pod: name, limit: "1000" });
  return (await askJson<{ items: Attempt[] }>(`/api/v1/decisions?${query}`, { signal })).items;
}

export interface Shadow {
  name: string;
  location: string;
  /** The names that it decides for. */
  schedulers: string[];
  /** The attempts that it would have ended otherwise. */
  pods: { uid: string; attempt: number; node: string; shadowNode: string; plugin: string; reason: string }[];
}

/** The configurations that decide in the shadow, with what they would have decided otherwise about a pod. */
export async function shadowsOf(namespace: string, name: string, signal: AbortSignal): Promise<Shadow[]> {
  const query = new URLSearchParams({ pod: `${namespace}/${name}` });
  return (await askJson<{ shadows: Shadow[] }>(`/api/v1/shadows?${query}`, { signal })).shadows;
}

export interface Span {
  at: string;
  afterSeconds: number;
  step: string;
  text: string;
}

/** The way of a pod. */
export async function traceOf(namespace: string, name: string, signal: AbortSignal): Promise<Span[]> {
  return (await askJson<{ spans: Span[] }>(`/api/v1/trace/${podPath(namespace, name)}`, { signal })).spans;
}

export interface Group {
  reasons: { reason: string; nodes: number }[];
  message: string;
  count: number;
  pods: string[];
  fix: Suggestion | null;
  fits: boolean;
}

export interface Pending {
  pending: number;
  pods: number;
  reasons: { reason: string; pods: number }[];
  groups: Group[];
}

/** The pods that wait, or waited at a revision, grouped by their reasons; fixes are searched for so many groups. */
export function pending(namespace: string, fixes: number, at: number, signal: AbortSignal): Promise<Pending> {
  const query = new URLSearchParams({ fixes: `${fixes}`, ...(namespace && { namespace }), ...(at && { at: `${at}` }) });
  return askJson(`/api/v1/pending?${query}`, { signal });
}

interface Cause {
  cause: string;
  amount: string;
  nodes: number;
  share: number;
}

export interface ResourceUse {
  resource: string;
  allocatable: string;
  requested: string;
  free: string;
  causes: Cause[];
}

export interface Capacity {
  nodes: number;
  resources: ResourceUse[];
  taints: { taint: string; nodes: number }[];
  largestPod: { node: string; cpu: string; memory: string } | null;
  typicalPod: { cpu: string; memory: string; fit: number } | null;
  keptAway: { plugin: string; pods: string[]; nodes: number; cpu: string; memory: string }[];
}

/** What keeps free capacity from being used, or kept it at a revision. */
export function whyNotFull(at: number, signal: AbortSignal): Promise<Capacity> {
  return askJson(`/api/v1/why-not-full${at ? `?at=${at}` : ""}`, { signal });
}

function podPath(namespace: string, name: string): string {
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
