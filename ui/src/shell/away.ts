/** Files of the UI that do not come, mostly because the simulator is not there. */

import { useEffect, useState } from "preact/hooks";
import { ApiError, ask } from "../api/http";
import { notifyError } from "./problem";

const AGAIN_MS = 2000;

/**
 * Tell why a file did not come: `cause`, or that nobody answers. Then the place is opened anew as soon as somebody does,
 * since browsers may keep in mind that the file failed, and another version of the simulator has other files.
 */
export async function tellMissing(cause: unknown, signal: AbortSignal, tell: (error: unknown) => void): Promise<void> {
  let unanswered = await noAnswer(signal);
  if (!signal.aborted) tell(unanswered ?? cause);
  if (!unanswered) return;
  while (unanswered && !signal.aborted) {
    await new Promise((resolve) => window.setTimeout(resolve, AGAIN_MS));
    unanswered = await noAnswer(signal);
  }
  if (!signal.aborted) location.reload();
}

/** A part of a page that comes a little later than the rest; undefined until then. */
export function useLate<T>(load: () => Promise<T>): T | undefined {
  const [part, setPart] = useState<T>();
  useEffect(() => {
    const giveUp = new AbortController();
    load().then(
      (loaded) => setPart(() => loaded),
      (cause) => tellMissing(cause, giveUp.signal, notifyError),
    );
    return () => giveUp.abort();
  }, []);
  return part;
}

/** That nobody answers, unless somebody does, whatever the answer is. */
async function noAnswer(signal: AbortSignal): Promise<ApiError | undefined> {
  try {
    await ask("/", { signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 0) return error;
  }
  return undefined;
}
