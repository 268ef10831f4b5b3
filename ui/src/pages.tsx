/**
 * The pages: the first part of a place's path leads to one, the rest are its parameters. Each comes as a file of its own
 * when it is first opened.
 */

import type { ComponentType } from "preact";
import type { Texts } from "./texts";

export interface PageProps {
  /** What follows the name of the page in the path. */
  parameters: string[];
  query: URLSearchParams;
}

export interface Page {
  /** Its name in the navigation, which shows it when it has one. */
  title?: (texts: Texts) => string;
  load(): Promise<{ default: ComponentType<PageProps> }>;
}

export const HOME = "map";

export const PAGES: Record<string, Page> = {
  map: { title: (texts) => texts.pages.map, load: () => import("./pages/map") },
  pending: { title: (texts) => texts.pages.pending, load: () => import("./pages/pending") },
  pod: { load: () => import("./pages/pod") },
  objects: { title: (texts) => texts.pages.objects, load: () => import("./pages/objects") },
  list: { load: () => import("./pages/list") },
  object: { load: () => import("./pages/object") },
  create: { title: (texts) => texts.pages.create, load: () => import("./pages/create") },
  scheduler: { title: (texts) => texts.pages.scheduler, load: () => import("./pages/scheduler") },
  snapshot: { title: (texts) => texts.pages.snapshot, load: () => import("./pages/snapshot") },
};
