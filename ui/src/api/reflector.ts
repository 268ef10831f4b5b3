/**
 * A live copy of some objects: listed in pages, then watched from the revision of the list.
 *
 *     list ─► watch ─► watch ─► …        each watch goes on behind the last event or bookmark of the one before
 *       ▲       │ 410, or another cluster answers
 *       └───────┘ the old copy stays until the new one is complete
 *
 * A copy of the past is listed once, and stays as it is. A stream that breaks is opened again (`Stream`). Subscribers hear of changes at most every
 * 150 ms, with all that changed since.
 */

import { identity } from "./connection";
import { ApiError, ask, askJson, lines } from "./http";
import { Stream } from "./stream";

export interface Meta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
}

/** What a list and the events of its watch look like in one form. */
export interface Form<T> {
  accept: string;
  itemsOf(list: unknown): T[];
  itemOf(object: unknown): T;
  metaOf(item: T): Meta;
}

interface ListMeta {
  metadata: { resourceVersion: string; continue?: string };
}

interface Event {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: { metadata?: { resourceVersion: string }; code?: number; message?: string };
}

/** What changed since the subscriber was last told. `all`: the copy was made anew. */
export interface Changes<T> {
  all: boolean;
  upserted: Map<string, T>;
  removed: Set<string>;
}

export interface Subscriber<T> {
  changed(changes: Changes<T>, items: ReadonlyMap<string, T>): void;
  /** The list cannot be made, for a reason that waiting does not mend. */
  failed(error: Error): void;
}

export const BATCH_MS = 150;
const PAGE = 1000;

export class Reflector<T> {
  /** By uid. */
  readonly items = new Map<string, T>();
  private readonly path: string;
  private readonly query: Record<string, string>;
  private readonly form: Form<T>;
  private readonly subscriber: Subscriber<T>;
  private readonly at: number;
  private readonly stream: Stream;
  private revision = "";
  private cluster = "";
  private pending: Changes<T> = { all: true, upserted: new Map(), removed: new Set() };
  private timer = 0;

  /** `at`: the revision of which a copy is made; 0 is now, and then it is kept up to date. */
  constructor(path: string, query: Record<string, string>, form: Form<T>, subscriber: Subscriber<T>, at = 0) {
    this.at = at;
    this.path = path;
    this.query = query;
    this.form = form;
    this.subscriber = subscriber;
    this.stream = new Stream((signal, isWell) => this.follow(signal, isWell), subscriber.failed);
  }

  start(): void {
    this.stream.start();
  }

  stop(): void {
    this.stream.stop();
    window.clearTimeout(this.timer);
  }

  private async follow(signal: AbortSignal, isWell: () => void): Promise<void> {
    if (this.at) {
      await this.lookBack(signal);
      isWell();
      return new Promise((_, reject) => signal.addEventListener("abort", reject));
    }
    try {
      await this.checkCluster(signal);
      if (!this.revision) await this.list(signal);
      isWell();
      await this.watch(signal);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error;
      this.revision = "";
    }
  }

  private async lookBack(signal: AbortSignal): Promise<void> {
    try {
      if (!this.revision) await this.list(signal);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error;
      this.subscriber.failed(error);
    }
  }

  /** Forget the revision when it is of another cluster. */
  private async checkCluster(signal: AbortSignal): Promise<void> {
    const found = await identity(signal);
    if (found !== this.cluster) this.revision = "";
    this.cluster = found;
  }

  private url(more: Record<string, string>): string {
    return `${this.path}?${new URLSearchParams({ ...this.query, ...more })}`;
  }

  private async list(signal: AbortSignal): Promise<void> {
    const found = new Map<string, T>();
    let next: string | undefined = "";
    let revision = "";
    const first = this.items.size === 0;
    while (next !== undefined) {
      const moment = this.at && !next ? exactly(this.at) : {};
      const page: Record<string, string> = { limit: String(PAGE), ...(next && { continue: next }), ...moment };
      const answer: ListMeta = await askJson<ListMeta>(this.url(page), { accept: this.form.accept, signal });
      for (const item of this.form.itemsOf(answer)) {
        const { uid } = this.form.metaOf(item);
        found.set(uid, item);
        // The first copy shows up as it comes; a later one replaces the old when it is whole.
        if (first) this.set(uid, item);
      }
      revision = answer.metadata.resourceVersion;
      next = answer.metadata.continue || undefined;
    }
    if (!first) {
      this.items.clear();
      for (const [uid, item] of found) this.items.set(uid, item);
      this.pending = { all: true, upserted: new Map(), removed: new Set() };
    }
    this.revision = revision;
    this.tell();
  }

  private async watch(signal: AbortSignal): Promise<void> {
    const query = { watch: "true", allowWatchBookmarks: "true", resourceVersion: this.revision };
    const answer = await ask(this.url(query), { accept: this.form.accept, signal });
    for await (const event of lines<Event>(answer)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code ?? 500, event.object.message ?? "watch failed");
      this.take(event);
    }
    // A watch that ends by itself goes on at once, unless nobody is there: then checking the cluster fails.
  }

  private take(event: Event): void {
    if (event.type === "BOOKMARK") {
      this.revision = event.object.metadata?.resourceVersion ?? this.revision;
      return;
    }
    const item = this.form.itemOf(event.object);
    const { uid, resourceVersion } = this.form.metaOf(item);
    if (event.type === "DELETED") this.remove(uid);
    else this.set(uid, item);
    this.revision = resourceVersion;
  }

  private set(uid: string, item: T): void {
    this.items.set(uid, item);
    this.pending.upserted.set(uid, item);
    this.pending.removed.delete(uid);
    this.tell();
  }

  private remove(uid: string): void {
    this.items.delete(uid);
    this.pending.upserted.delete(uid);
    this.pending.removed.add(uid);
    this.tell();
  }

  private tell(): void {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      const changes = this.pending;
      this.pending = { all: false, upserted: new Map(), removed: new Set() };
      this.subscriber.changed(changes, this.items);
    }, BATCH_MS);
  }
}

/** What a list is asked for as it was at a revision. */
export function exactly(revision: number): Record<string, string> {
  return { resourceVersion: `${revision}`, resourceVersionMatch: "Exact" };
}
