/**
 * Keeps something that streams going: opened again when it breaks, later each time (0.5 s to 15 s), and closed while the
 * page is hidden, since browsers allow six connections to one host and another tab may need them.
 */

import { reportCut, reportWell } from "./connection";
import { ApiError } from "./http";

const BACKOFF_MS_MIN = 500;
const BACKOFF_MS_MAX = 15_000;
/** Answers that waiting does not change. */
const FINAL = [400, 401, 403, 404, 406];

export class Stream {
  private readonly work: (signal: AbortSignal, isWell: () => void) => Promise<void>;
  private readonly failed: (error: Error) => void;
  private stopping = new AbortController();
  private readonly onVisibility = () => (document.hidden ? this.stopping.abort() : this.resume());

  /** `work` streams until it ends or breaks, and says when what is shown is up to date again. */
  constructor(work: (signal: AbortSignal, isWell: () => void) => Promise<void>, failed: (error: Error) => void) {
    this.work = work;
    this.failed = failed;
  }

  start(): void {
    document.addEventListener("visibilitychange", this.onVisibility);
    void this.run();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.stopping.abort();
    reportWell(this);
  }

  private resume(): void {
    if (!this.stopping.signal.aborted) return;
    this.stopping = new AbortController();
    void this.run();
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    let failures = 0;
    const isWell = () => {
      reportWell(this);
      failures = 0;
    };
    while (!signal.aborted) {
      const began = Date.now();
      try {
        await this.work(signal, isWell);
        // A stream that ends by itself goes on at once, but never in a hurry.
        if (Date.now() - began < BACKOFF_MS_MIN) await pause(BACKOFF_MS_MIN, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && FINAL.includes(error.status)) {
          this.failed(error);
          return;
        }
        reportCut(this);
        failures += 1;
        await pause(Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (failures - 1)), signal);
      }
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms * (0.75 + Math.random() / 2));
    signal.addEventListener("abort", () => {
      window.clearTimeout(timer);
      resolve();
    });
  });
}
