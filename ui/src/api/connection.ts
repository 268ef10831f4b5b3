/**
 * Whether what is shown is what is. Each stream reports here; the banner of the shell says since when one is cut, and
 * `identity` tells whether a server that answers again still is the same cluster.
 */

import { computed, signal } from "@preact/signals";
import { askJson } from "./http";

const cut = signal<ReadonlyMap<object, number>>(new Map());

/** Since when something shown may be out of date, in milliseconds of the epoch; 0 when nothing is. */
export const staleSince = computed(() => (cut.value.size ? Math.min(...cut.value.values()) : 0));

export function reportCut(stream: object): void {
  if (!cut.value.has(stream)) cut.value = new Map(cut.value).set(stream, Date.now());
}

export function reportWell(stream: object): void {
  if (!cut.value.has(stream)) return;
  const left = new Map(cut.value);
  left.delete(stream);
  cut.value = left;
}

/** The uid of kube-system, by which clusters are told apart: versions of another cluster mean nothing here. */
export async function identity(signal: AbortSignal): Promise<string> {
  const found = await askJson<{ metadata: { uid: string } }>("/k8s/api/v1/namespaces/kube-system", {
    accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    signal,
  });
  return found.metadata.uid;
}
