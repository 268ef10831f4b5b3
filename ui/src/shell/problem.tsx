/** What went wrong and what to do about it, in place or at the edge of the page. */

import { signal } from "@preact/signals";
import { ApiError, PageError } from "../api/http";
import { texts } from "../texts";

interface Told {
  cause: string;
  /** In the words of the server, which are English; `advice` is the page's own. */
  hint?: string;
  advice?: string;
  isOwn?: boolean;
}

function told(error: unknown): Told {
  const t = texts.value.errors;
  if (error instanceof PageError) return { cause: error.message, advice: error.hint, isOwn: true };
  if (!(error instanceof ApiError)) return { cause: error instanceof Error ? error.message : String(error) };
  if (error.status === 0) return { cause: t.unreachable, advice: t.unreachableHint, isOwn: true };
  if (error.hint) return { cause: error.message, hint: error.hint };
  return { cause: error.message, advice: error.advice || (error.reason === "Conflict" ? t.conflictHint : "") };
}

/** An error in the place of what could not be shown. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { cause, hint, advice, isOwn } = told(error);
  return (
    <div class="problem" role="alert">
      <strong>{texts.value.errors.title}</strong>
      <p class="cause" lang={isOwn ? undefined : "en"}>
        {cause}
      </p>
      {hint && (
        <p class="hint" lang="en">
          {hint}
        </p>
      )}
      {advice && <p class="hint">{advice}</p>}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {texts.value.errors.retry}
        </button>
      )}
    </div>
  );
}

interface Notice {
  id: number;
  /** What went well, or what did not. */
  text?: string;
  error?: unknown;
}

const notices = signal<Notice[]>([]);
let last = 0;
const NOTICE_MS = 6000;

/** Tell that something was done; the words go away by themselves. */
export function notify(text: string): void {
  const id = ++last;
  notices.value = [...notices.value, { id, text }];
  window.setTimeout(() => dismiss(id), NOTICE_MS);
}

/** Tell that something was not done; the words stay until they are dismissed. */
export function notifyError(error: unknown): void {
  notices.value = [...notices.value, { id: ++last, error }];
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function Notices() {
  return (
    <div class="notices" aria-live="polite">
      {notices.value.map(({ id, text, error }) => (
        <div key={id} class="notice">
          {error === undefined ? <p>{text}</p> : <Problem error={error} />}
          <button type="button" onClick={() => dismiss(id)}>
            {texts.value.shell.dismiss}
          </button>
        </div>
      ))}
    </div>
  );
}
