/** Changes of the cluster, as suggestions consist of them (docs/reference/rest.md): tried on a fork, or made. */

import { texts } from "../texts";
import type { KubeObject } from "./forms";
import { ApiError, askJson, PageError } from "./http";
import { type Kind, kinds, pathOf } from "./kinds";
import { create } from "./manifests";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

export interface Change {
  cordon?: string;
  uncordon?: string;
  drain?: string;
  scale?: string;
  replicas?: number;
  schedulerConfig?: JsonObject;
  location?: string;
  delete?: string;
  apply?: KubeObject;
  patch?: string;
  replace?: string;
  change?: JsonObject;
  namespace?: string;
  type?: "strategic" | "merge";
}

/** A pod that is elsewhere afterwards; "" while it waits, null while there is no such pod. */
export interface Move {
  pod: string;
  before: string | null;
  after: string | null;
  why: string;
  plugin: string;
  replaces: string;
  /** Of the past: where it was in truth. */
  really?: string | null;
}

export interface Outcome {
  changes: string[];
  moves: Move[];
  problems: string[];
  pods: number;
  ranForSeconds: number;
  /** Of the past: the moment that the fork began at, and the one whose truth stands beside. */
  at?: Moment;
  really?: Moment & { came: number };
}

interface Moment {
  revision: number;
  time: string;
}

/** Make changes on a fork of the cluster as it is, or was `at` a revision; the cluster stays as it is. */
export function tryOnFork(changes: Change[], at: number, forSeconds?: number): Promise<Outcome> {
  const body = { changes, ...(at && { at }), ...(forSeconds !== undefined && { forSeconds }) };
  return askJson("/api/v1/what-if", { method: "POST", body });
}

/** Make changes in the cluster itself, one after the other. */
export async function make(changes: Change[]): Promise<void> {
  for (const change of changes) await makeOne(change);
}

async function makeOne(change: Change): Promise<void> {
  const { uncordon, apply, namespace = "", change: patch = {}, type = "strategic" } = change;
  if (uncordon) {
    await send(await target(`node/${uncordon}`, ""), "PATCH", { spec: { unschedulable: null } }, "strategic");
  } else if (change.delete) {
    await send(await target(change.delete, namespace), "DELETE");
  } else if (change.patch) {
    await send(await target(change.patch, namespace), "PATCH", patch, type);
  } else if (change.replace) {
    await replaceByCopy(await target(change.replace, namespace), namespace, patch);
  } else if (apply) {
    await create(apply, namespace);
  } else {
    throw new PageError(texts.value.errors.notMade(JSON.stringify(change)));
  }
}

/** The path of `KIND/NAME`. */
async function target(text: string, namespace: string): Promise<string> {
  const [word = "", name = ""] = text.split("/", 2);
  const fits = (kind: Kind) => kind.kind.toLowerCase() === word || kind.resource === word;
  const kind = (await kinds()).find(fits);
  if (!kind) throw new ApiError(404, `the server doesn't have a resource type "${word}"`);
  return pathOf(kind, namespace || "default", name);
}

function send(path: string, method: string, body?: unknown, type = ""): Promise<unknown> {
  const contentType = type ? { contentType: `application/${type}-${type === "merge" ? "" : "merge-"}patch+json` } : {};
  return askJson(`${path}?fieldManager=schedlab-ui`, { method, ...(body !== undefined && { body }), ...contentType });
}

/** What a new object must not have; the rest that is the server's own it gives anew by itself. */
const OF_THE_OLD = ["resourceVersion", "managedFields"];

async function replaceByCopy(path: string, namespace: string, patch: JsonObject): Promise<void> {
  const { status: _, ...old } = await askJson<KubeObject>(path);
  const fresh = merged(old as JsonObject, patch) as unknown as KubeObject;
  for (const key of OF_THE_OLD) delete (fresh.metadata as Record<string, unknown>)[key];
  // The server checks what will come before the old one goes.
  await check(fresh, namespace);
  await askJson(path, { method: "DELETE", body: { gracePeriodSeconds: 0 } });
  await create(fresh, namespace);
}

/** Raise what the server has against an object, under a name that is free. */
async function check(object: KubeObject, namespace: string): Promise<void> {
  const name = `${object.metadata.name}-anew`;
  await create({ ...object, metadata: { ...object.metadata, name } }, namespace, true);
}

/** By what the entries of a list are told apart; other lists are given as a whole. */
const MERGE_KEYS: Record<string, string> = { containers: "name", initContainers: "name", ports: "containerPort" };

/** A copy with the patch in it: null takes away. */
export function merged(old: JsonObject, patch: JsonObject): JsonObject {
  const fresh = { ...old };
  for (const [key, value] of Object.entries(patch)) {
    const before = old[key];
    if (value === null) delete fresh[key];
    else if (Array.isArray(value)) fresh[key] = mergedList(before, value, MERGE_KEYS[key]);
    else if (isObject(value)) fresh[key] = merged(isObject(before) ? before : {}, value);
    else fresh[key] = value;
  }
  return fresh;
}

function mergedList(before: Json | undefined, patch: Json[], by: string | undefined): Json[] {
  if (!by || !Array.isArray(before)) return patch.filter((entry) => !(isObject(entry) && "$patch" in entry));
  const changes = patch.filter(isObject);
  return before.map((entry) => {
    const change = isObject(entry) && changes.find((one) => one[by] === entry[by]);
    return change ? merged(entry as JsonObject, change) : entry;
  });
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
