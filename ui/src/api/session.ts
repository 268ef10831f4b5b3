/**
 * Whether this browser is let in. The cookie is out of reach of scripts; the token beside it lies in storage that only
 * pages of this origin, port included, can read.
 */

import { signal } from "@preact/signals";

const KEY = "schedlab-csrf";

/** `needed`: nothing is shown but how to log in. */
export const session = signal<"unknown" | "open" | "needed">("unknown");

export function sessionToken(): string {
  return localStorage.getItem(KEY) ?? "";
}

/** Ask whether the session of an earlier visit still is good. A server that does not answer is the pages' matter. */
export async function findSession(): Promise<void> {
  const answer = await fetch("/api/v1/session", { headers: { "X-CSRF-Token": sessionToken() } }).catch(() => undefined);
  session.value = answer?.status === 401 ? "needed" : "open";
}

export function endSession(): void {
  session.value = "needed";
}

/** Turn a one-time link into a session; returns why it was not taken, empty when it was. */
export async function begin(link: string): Promise<string> {
  const answer = await fetch("/api/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ link }),
  });
  const body = await answer.json();
  if (!answer.ok) return body.message;
  localStorage.setItem(KEY, body.csrfToken);
  session.value = "open";
  return "";
}

/** Let the browser forget everything it may do here. */
export async function leave(): Promise<void> {
  await fetch("/api/v1/session", { method: "DELETE", headers: { "X-CSRF-Token": sessionToken() } });
  localStorage.removeItem(KEY);
  endSession();
}
