/** Where the page is: `#/list/pods?namespace=shop`. Every view has such a link, which can be shared. */

import { computed, signal } from "@preact/signals";
import { HOME, PAGES } from "../pages";

export interface Place {
  /** `["list", "pods"]`, decoded. */
  path: string[];
  query: URLSearchParams;
}

const hash = signal(location.hash);
window.addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const place = computed<Place>(() => {
  const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
});

/** What was mistyped or cut short stays as it is written: it is the page's to say that there is no such thing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const askedAt = computed(() => place.value.query.get("at") ?? "");

/** The revision of the past that is shown; 0 is now. */
export const at = computed(() => (isRevision(askedAt.value) ? Number(askedAt.value) : 0));

/** What the link asks for as a moment, where that is none; else empty. */
export const strayAt = computed(() => (isRevision(askedAt.value) ? "" : askedAt.value));

function isRevision(text: string): boolean {
  return /^\d+$/.test(text);
}

/**
 * The link of a place; what is empty is left out of its query. Pages that can show the past stay at the moment that is
 * shown, unless another one is given.
 */
export function link(path: string[], query: Record<string, string> = {}): string {
  const moment = at.value && PAGES[path[0] ?? HOME]?.hasPast ? { at: `${at.value}` } : {};
  const kept = new URLSearchParams(Object.entries({ ...moment, ...query }).filter(([, value]) => value));
  return `#/${path.map(encodeURIComponent).join("/")}${kept.size ? `?${kept}` : ""}`;
}

export function go(path: string[], query: Record<string, string> = {}): void {
  location.hash = link(path, query);
}

/** Go to the same page with another query, without a step in the history. */
export function amend(query: Record<string, string>): void {
  const { path, query: now } = place.value;
  history.replaceState(null, "", link(path, { ...Object.fromEntries(now), ...query }));
  hash.value = location.hash;
}

/** The link of an object. */
export function placeOf(kindId: string, { name, namespace }: { name: string; namespace?: string }): string {
  return link(["object", kindId, namespace || "-", name]);
}
