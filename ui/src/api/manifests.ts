/** Manifests: YAML with one or more objects, where their mistakes are, and writing them to the cluster. */

import { type Document, isMap, isNode, isSeq, parseAllDocuments, stringify } from "yaml";
import { texts } from "../texts";
import type { KubeObject } from "./forms";
import { ApiError, type Ask, askJson, type Refusal, refusal } from "./http";
import { type Kind, kindOf, pathOf } from "./kinds";

/** Something wrong at a place of the text. */
export interface Mistake {
  from: number;
  to: number;
  message: string;
  severity: "error";
}

interface Parsed {
  document: Document.Parsed;
  object: KubeObject;
}

/** Read a text; the mistakes are those of its YAML. */
export function parse(text: string): { manifests: Parsed[]; mistakes: Mistake[] } {
  const manifests: Parsed[] = [];
  const mistakes: Mistake[] = [];
  for (const document of parseAllDocuments(text, { version: "1.1" })) {
    // Of an empty text there are no documents, but something that says so.
    if (!("contents" in document)) continue;
    mistakes.push(...yamlMistakes(document));
    const object = document.errors.length ? undefined : document.toJS();
    if (object === null || object === undefined) continue;
    const [from, to] = rangeOf(document, "");
    if (typeof object.kind !== "string" || typeof object.apiVersion !== "string" || !isMap(document.contents)) {
      mistakes.push({ from, to, message: texts.value.errors.noKind, severity: "error" });
    } else manifests.push({ document, object });
  }
  return { manifests, mistakes };
}

/** What keeps a text from being YAML. */
export function yamlMistakes(document: Document): Mistake[] {
  return document.errors.map(({ pos, message }) => ({ from: pos[0], to: pos[1], message, severity: "error" }));
}

/** Write an object down; what only the server is concerned with comes last or not at all. */
export function dump(object: KubeObject, withManagedFields = false): string {
  const { managedFields, ...metadata } = object.metadata as Record<string, unknown>;
  const shown = withManagedFields ? object : { ...object, metadata };
  return stringify(shown, { version: "1.1", lineWidth: 0 });
}

/** The place of a field in the text, or of the nearest one above it. */
export function rangeOf(document: Document.Parsed, field: string): [number, number] {
  let node: unknown = document.contents;
  let found: [number, number] = [document.range[0], document.range[1]];
  if (isNode(node) && node.range) found = [node.range[0], Math.min(node.range[1], node.range[0] + 1)];
  for (const [, plain, bracketed] of field.matchAll(/([^.[\]]+)|\[([^\]]+)\]/g)) {
    const part = plain ?? bracketed ?? "";
    if (isMap(node)) {
      const pair = node.items.find((item) => `${item.key}` === part);
      if (!pair || !isNode(pair.key) || !pair.key.range) break;
      found = [pair.key.range[0], pair.key.range[1]];
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(part)];
      if (!isNode(item) || !item.range) break;
      found = [item.range[0], item.range[1]];
      node = item;
    } else break;
  }
  return found;
}

/** What is wrong with a text: with its YAML, and what the server has against each object, which keeps nothing of it. */
export async function check(
  text: string,
  refusalsOf: (objects: KubeObject[]) => Promise<(ApiError | undefined)[]>,
): Promise<Mistake[]> {
  const { manifests, mistakes } = parse(text);
  const refusals = manifests.length ? await refusalsOf(manifests.map(({ object }) => object)) : [];
  manifests.forEach(({ document }, place) => {
    const error = refusals[place];
    if (!error) return;
    const causes = error.causes.length ? error.causes : [{ field: "", message: error.message }];
    for (const { field, message } of causes) {
      const [from, to] = rangeOf(document, field);
      const words = field && !message.includes(field) ? `${field}: ${message}` : message;
      mistakes.push({ from, to, message: words, severity: "error" });
    }
  });
  return mistakes;
}

/** What the server says to a write that keeps nothing; undefined when it agrees. */
export async function refusalOf(write: Promise<unknown>): Promise<ApiError | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status !== 0) return error;
    throw error;
  }
}

/** What the server has against the creation of objects: of several with those before them in place. */
export async function refusalsToCreate(objects: KubeObject[], namespace: string): Promise<(ApiError | undefined)[]> {
  const [first, ...others] = objects;
  if (first && !others.length) return [await refusalOf(create(first, namespace, true))];
  const body = { objects, namespace };
  const { refusals } = await askJson<{ refusals: (Refusal | null)[] }>("/api/v1/object-checks", {
    method: "POST",
    body,
  });
  return refusals.map((one) => (one ? refusal(one) : undefined));
}

const DRY = "&dryRun=All";
const HOW = "fieldManager=schedlab-ui&fieldValidation=Strict";

function write(path: string, method: string, object: KubeObject, isTrial: boolean, options: Ask = {}) {
  return askJson<KubeObject>(`${path}?${HOW}${isTrial ? DRY : ""}`, { method, body: object, ...options });
}

/** Create an object; without a namespace of its own in `namespace`. */
export async function create(object: KubeObject, namespace: string, isTrial = false): Promise<[Kind, KubeObject]> {
  const kind = await kindOf(object.apiVersion ?? "", object.kind ?? "");
  const place = object.metadata?.namespace || namespace;
  return [kind, await write(pathOf(kind, place), "POST", object, isTrial)];
}

/** Replace an object by what was made of it; its status is written apart where the kind has it so. */
export async function replace(kind: Kind, before: KubeObject, after: KubeObject, isTrial = false): Promise<void> {
  const { name, namespace } = before.metadata;
  const path = pathOf(kind, namespace, name);
  const hasNewStatus = kind.hasStatus && !isEqual(before.status, after.status);
  let saved = after;
  if (!hasNewStatus || !isEqual({ ...before, status: 0 }, { ...after, status: 0 })) {
    saved = await write(path, "PUT", after, isTrial);
  }
  if (!hasNewStatus) return;
  // What was only tried has no new version to go on from.
  const metadata = isTrial ? after.metadata : saved.metadata;
  await write(`${path}/status`, "PUT", { ...saved, metadata, status: after.status }, isTrial);
}

export async function remove(kind: Kind, object: KubeObject): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid } };
  await askJson(pathOf(kind, namespace, name), { method: "DELETE", body });
}

function isEqual(a: unknown, b: unknown): boolean {
  return stringify(a, { sortMapEntries: true }) === stringify(b, { sortMapEntries: true });
}
