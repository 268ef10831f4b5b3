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
  /** The page of the navigation that leads to it, where it is not there itself. */
  under?: string;
  /** Whether it can show a moment of the past. */
  hasPast?: boolean;
  /** How many parameters it cannot do without. */
  needs?: number;
  load(): Promise<{ default: ComponentType<PageProps> }>;
}

export const HOME = "map";

export const PAGES: Record<string, Page> = {
  map: { title: (texts) => texts.pages.map, hasPast: true, load: () => import("./pages/map") },
  pending: { title: (texts) => texts.pages.pending, hasPast: true, load: () => import("./pages/pending") },
  pod: { under: "objects", hasPast: true, needs: 2, load: () => import("./pages/pod") },
  objects: { title: (texts) => texts.pages.objects, hasPast: true, load: () => import("./pages/objects") },
  list: { under: "objects", hasPast: true, load: () => import("./pages/list") },
  object: { under: "objects", hasPast: true, needs: 3, load: () => import("./pages/object") },
  "what-if": { title: (texts) => texts.pages.whatIf, hasPast: true, load: () => import("./pages/what-if") },
  create: { title: (texts) => texts.pages.create, load: () => import("./pages/create") },
  scenarios: { title: (texts) => texts.pages.scenarios, load: () => import("./pages/scenarios") },
  scheduler: { title: (texts) => texts.pages.scheduler, load: () => import("./pages/scheduler") },
  learn: { title: (texts) => texts.pages.learn, load: () => import("./pages/learn") },
  snapshot: { title: (texts) => texts.pages.snapshot, load: () => import("./pages/snapshot") },
};
