/**
 * A step of a lesson on the live cluster: its objects are made in a namespace of its own, then the prediction, then what
 * the scheduler does.
 *
 *     absent ─► building ─► ready ─► deciding ─► decided
 *        ▲                                          │      from everywhere: gone, when somebody else removed what was made
 *        └────────────── the next step ─────────────┘
 *
 * A run is found again after the page was closed: its namespace is remembered (`progress`).
 */

import { signal } from "@preact/signals";
import { type Change, make, tryOnFork } from "../api/changes";
import { type Explanation, explain } from "../api/decisions";
import { type KubeObject, WHOLE } from "../api/forms";
import { ApiError, askJson, PageError } from "../api/http";
import { findKind, kindOf, pathOf } from "../api/kinds";
import { create, remove } from "../api/manifests";
import { notify, notifyError } from "../shell/problem";
import { texts } from "../texts";
import { type Fix, isSame, kept, keptChange, MARK, type Owner, type Question, type Step } from "./lesson";
import { lessonOf } from "./lessons";
import { answerOf, type Outcome, type Trial } from "./outcome";
import { claim, forgetRun, keepAnswer, keepRun, progress, type Run } from "./progress";

/** The lesson that a namespace was made for. */
export const LESSON_ID = "schedlab.dev/lesson-id";
const PREFIX = "lesson-";

export interface Doing {
  lesson: string;
  step: number;
  phase: "absent" | "building" | "ready" | "deciding" | "decided" | "gone";
  run?: Run;
  outcome?: Outcome;
  error?: unknown;
}

/** What this tab is at. */
export const doing = signal<Doing>({ lesson: "", step: 0, phase: "absent" });

/** A step with the names of its run. */
export function stepOf({ lesson, step, run }: Pick<Doing, "lesson" | "step" | "run">): Step | undefined {
  return lessonOf(lesson, run?.name.slice(PREFIX.length))?.steps[step];
}

type Tell = (more: Partial<Doing>) => void;

/** Start with something; what was under way before no longer shows. */
function turnTo(start: Doing): Tell {
  let now = start;
  doing.value = now;
  return (more) => {
    if (doing.peek() !== now) return;
    now = { ...now, ...more };
    doing.value = now;
  };
}

/** Come to a step: go on with the run that was left there, if there is one that no other tab has. */
export async function open(lesson: string, step: number): Promise<void> {
  const at = doing.peek();
  if (at.lesson === lesson && at.step === step && at.phase !== "absent") return;
  const tell = turnTo({ lesson, step, phase: "absent" });
  for (const run of Object.values(progress().runs)) {
    if (run.lesson !== lesson || run.step !== step || !(await claim(run.name))) continue;
    await guarded(tell, () => resume(run, tell));
    return;
  }
}

async function resume(run: Run, tell: Tell): Promise<void> {
  if (!(await isThere(run))) tell({ run, phase: "gone" });
  else if (!run.isBuilt) await rebuild(run, tell);
  else if (run.said) await decide(run, run.said, tell);
  else tell({ run, phase: "ready" });
}

/** Make the objects of a step, in a namespace of their own; what an earlier step made goes. */
export async function begin(lesson: string, step: number): Promise<void> {
  const before = doing.peek().run;
  const tell = turnTo({ lesson, step, phase: "building" });
  if (before) void clear(before).catch(notifyError);
  await guarded(tell, () => build(lesson, step, tell));
}

async function rebuild(run: Run, tell: Tell): Promise<void> {
  tell({ phase: "building" });
  await clear(run);
  await build(run.lesson, run.step, tell);
}

async function build(lesson: string, step: number, tell: Tell): Promise<void> {
  const metadata = { generateName: PREFIX, labels: { [LESSON_ID]: lesson } };
  const [, made] = await create({ apiVersion: "v1", kind: "Namespace", metadata } as unknown as KubeObject, "");
  const { name, uid } = made.metadata;
  const run: Run = { name, uid, lesson, step, isBuilt: false };
  await claim(name);
  keepRun(run);
  tell({ run });
  await makeAll(stepOf({ lesson, step, run })?.objects ?? [], run);
  // Who has gone on meanwhile has removed it already.
  if (!progress().runs[name]) return;
  keepRun({ ...run, isBuilt: true });
  tell({ run: { ...run, isBuilt: true }, phase: "ready" });
}

/** Say what the scheduler will do; then it is let do it. */
export async function predict(said: string[]): Promise<void> {
  const at = doing.peek();
  if (!at.run) return;
  const run = { ...at.run, said };
  keepRun(run);
  const tell = turnTo({ ...at, run, phase: "deciding" });
  await guarded(tell, () => decide(run, said, tell));
}

async function decide(run: Run, said: string[], tell: Tell): Promise<void> {
  tell({ run, phase: "deciding" });
  const step = stepOf({ ...run, run });
  if (!step) return;
  await makeAll(step.question.create, run);
  const outcome = await outcomeOf(run, step);
  keepAnswer(run.lesson, run.step, { said, isRight: isSame(step.question.asks, said, outcome.was) });
  tell({ outcome, phase: "decided" });
}

/** The same once more after something went wrong, from where it did. */
export async function retry(): Promise<void> {
  const { run, lesson, step } = doing.peek();
  if (!run) return begin(lesson, step);
  const tell = turnTo({ lesson, step, phase: "building" });
  await guarded(tell, () => resume(run, tell));
}

/** The objects of the run are no longer there. */
export function lost(): void {
  const { error, ...at } = doing.peek();
  doing.value = { ...at, phase: "gone" };
}

/** Leave the run for good and remove what it made. */
export async function end(): Promise<void> {
  const { run, lesson, step } = doing.peek();
  turnTo({ lesson, step, phase: "absent" });
  if (run) await clear(run);
}

async function guarded(tell: Tell, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    tell({ error: explained(error) });
  }
}

/** An error of the API with what a lesson can say about it. */
function explained(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.hint) return error;
  const t = texts.value.learn.errors;
  error.advice = error.status === 403 ? t.forbidden : error.reason === "AlreadyExists" ? t.exists : "";
  return error;
}

// --- Making ------------------------------------------------------------------------------------------------------------

const LOOK_AGAIN_MS = 200;
const PATIENCE_MS = 30_000;
/** A pod whose scheduler is not known is looked at for so long: it may just have started. */
const UNKNOWN_MS = 3000;
const DEFAULT_SCHEDULER = "default-scheduler";

/** Make objects one after the other; each is ready for the next: nodes, workloads, and pods that have been decided about. */
async function makeAll(objects: KubeObject[], owner: Owner): Promise<void> {
  for (const object of objects) {
    await makeOnce(object, owner);
    if (object.kind === "Node") await until(owner, object, isReady, texts.value.learn.errors.notReady);
    if (object.kind === "Deployment") await until(owner, object, isAvailable, texts.value.learn.errors.notAvailable);
    if (object.kind === "Pod") await untilDecided(owner, object);
  }
}

/** What an interrupted attempt has made already is not made again. */
async function makeOnce(object: KubeObject, owner: Owner): Promise<void> {
  const { namespaced } = await kindOf(object.apiVersion ?? "", object.kind ?? "");
  try {
    await create(kept(object, owner, namespaced), owner.name);
  } catch (error) {
    const isOurs = error instanceof ApiError && error.reason === "AlreadyExists" && (await isOf(object, owner));
    if (!isOurs) throw error;
  }
}

async function isOf(object: KubeObject, owner: Owner): Promise<boolean> {
  const { metadata } = await current(object, owner);
  return metadata.namespace === owner.name || metadata.labels?.[MARK] === owner.name;
}

async function current(object: KubeObject, owner: Owner): Promise<KubeObject> {
  const kind = await kindOf(object.apiVersion ?? "", object.kind ?? "");
  return askJson(pathOf(kind, owner.name, object.metadata.name));
}

async function until(
  owner: Owner,
  object: KubeObject,
  isSo: (now: KubeObject) => boolean,
  words: (name: string) => [cause: string, hint: string],
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const end = Date.now() + patienceMs;
  const [cause, hint] = words(object.metadata.name);
  while (!isSo(await current(object, owner))) {
    if (Date.now() > end) throw new PageError(cause, hint);
    await pause();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => window.setTimeout(resolve, LOOK_AGAIN_MS));
}

interface Condition {
  type: string;
  status: string;
}

function condition(object: KubeObject, type: string): Condition | undefined {
  const { conditions = [] } = (object.status ?? {}) as { conditions?: Condition[] };
  return conditions.find((one) => one.type === type);
}

/** Ready, and seen to be so by the node lifecycle, which keeps pods off new nodes. */
function isReady(node: KubeObject): boolean {
  const { taints = [] } = (node.spec ?? {}) as { taints?: { key: string }[] };
  return (
    condition(node, "Ready")?.status === "True" && !taints.some(({ key }) => key === "node.kubernetes.io/not-ready")
  );
}

function isAvailable(deployment: KubeObject): boolean {
  return condition(deployment, "Available")?.status === "True";
}

async function untilDecided(owner: Owner, pod: KubeObject): Promise<void> {
  const { schedulerName = DEFAULT_SCHEDULER } = pod.spec as { schedulerName?: string };
  const words = (name: string) => texts.value.learn.errors.notDecided(name, schedulerName);
  const isDecided = (now: KubeObject) => condition(now, "PodScheduled") !== undefined;
  if ((await schedulers()).includes(schedulerName)) return until(owner, pod, isDecided, words);
  try {
    await until(owner, pod, isDecided, words, UNKNOWN_MS);
  } catch (error) {
    // Lessons also have pods that nobody takes up; without the default scheduler there is no lesson.
    if (schedulerName === DEFAULT_SCHEDULER || !(error instanceof PageError)) throw error;
  }
}

async function schedulers(): Promise<string[]> {
  const { schedulers } = await askJson<{ schedulers: { names: string[] }[] }>("/api/v1/status");
  return schedulers.flatMap((one) => one.names);
}

// --- What came of it -----------------------------------------------------------------------------------------------------

async function outcomeOf(run: Run, step: Step): Promise<Outcome> {
  const { question } = step;
  const nodes = step.objects.filter((one) => one.kind === "Node").map((one) => one.metadata.name);
  const [told, words] = await firstDecision(run.name, question.pod, nodes);
  const trials = run.trials ?? (await tryAll(run, question));
  const was = answerOf(question, told, trials);
  if (!run.trials && trials.length) await makeFix(run, trials, question.fixes ?? []);
  return { was, words, trials, strangers: await strangersOn(nodes, run.name), ...(told && { told }) };
}

/** The first decision about a pod; or why there is none, in the simulator's words. */
async function firstDecision(
  namespace: string,
  pod: string,
  nodes: string[],
): Promise<[Explanation | undefined, string]> {
  try {
    return [await explain(namespace, pod, { attempt: "1", node: nodes }, new AbortController().signal), ""];
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [undefined, error.message];
    throw error;
  }
}

/** Longer than any backoff: a fix that helps has helped by then. */
const FORK_SECONDS = 30;

/** Make each fix on a fork of the cluster. */
async function tryAll(run: Run, { pod, fixes = [] }: Question): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const fix of fixes) {
    const { moves, problems } = await tryOnFork(changesOf(fix, run), 0, FORK_SECONDS);
    const move = moves.find((one) => one.pod === `${run.name}/${pod}`);
    trials.push({
      fix: fix.name,
      node: move?.after ?? "",
      why: [move?.why ?? "", ...problems].filter(Boolean).join(" "),
    });
  }
  return trials;
}

function changesOf(fix: Fix, run: Run): Change[] {
  return fix.changes.map((change) => keptChange(change, run));
}

/** Make the first fix that helped in the cluster, once. */
async function makeFix(run: Run, trials: Trial[], fixes: Fix[]): Promise<void> {
  const tried = { ...run, trials };
  keepRun(tried);
  const helped = trials.find((trial) => trial.node);
  const fix = fixes.find((one) => one.name === helped?.fix);
  if (fix) await make(changesOf(fix, run));
}

async function strangersOn(nodes: string[], namespace: string): Promise<string[]> {
  const found: string[] = [];
  for (const node of nodes) {
    const query = new URLSearchParams({ fieldSelector: `spec.nodeName=${node}` });
    for (const { metadata } of WHOLE.itemsOf(await askJson(`/k8s/api/v1/pods?${query}`))) {
      if (metadata.namespace !== namespace) found.push(`${metadata.namespace}/${metadata.name}`);
    }
  }
  return found;
}

// --- Removing ------------------------------------------------------------------------------------------------------------

async function namespaceOf(run: Owner): Promise<KubeObject | undefined> {
  try {
    const found = await askJson<KubeObject>(pathOf(await findKind("namespaces"), "", run.name));
    return found.metadata.uid === run.uid ? found : undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

async function isThere(run: Owner): Promise<boolean> {
  const found = await namespaceOf(run);
  return found !== undefined && !found.metadata.deletionTimestamp;
}

/** Remove what a run made, and say so; with the namespace goes all that it owns. */
export async function clear(run: Owner): Promise<void> {
  const found = await namespaceOf(run);
  if (found) {
    if (!found.metadata.deletionTimestamp) await remove(await findKind("namespaces"), found);
    await untilRemoved(run);
    notify(texts.value.learn.removed(run.name));
  }
  forgetRun(run.name);
  const { lesson, step, run: shown } = doing.peek();
  if (shown?.name === run.name) turnTo({ lesson, step, phase: "absent" });
}

async function untilRemoved(run: Owner): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  const [cause, hint] = texts.value.learn.errors.notRemoved(run.name);
  while ((await namespaceOf(run)) || (await nodesOf(run)).length) {
    if (Date.now() > end) throw new PageError(cause, hint);
    await pause();
  }
}

async function nodesOf(run: Owner): Promise<KubeObject[]> {
  const query = new URLSearchParams({ labelSelector: `${MARK}=${run.name}` });
  return WHOLE.itemsOf(await askJson(`/k8s/api/v1/nodes?${query}`));
}
