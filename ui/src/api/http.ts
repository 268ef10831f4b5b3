/**
 * Requests to the simulator and, below `/k8s`, to the Kubernetes API: the session's token goes along, and whatever does
 * not work becomes an ApiError that says cause and fix.
 */

import { endSession, sessionToken } from "./session";

/** A request that was not answered as asked. `status` is 0 when nobody answered. */
export class ApiError extends Error {
  readonly status: number;
  /** Kubernetes' reason, such as `AlreadyExists`; empty for others. */
  readonly reason: string;
  readonly hint: string;
  /** Which fields of a manifest are wrong, and why. */
  readonly causes: Cause[];
  /** What the page itself advises, where the server has no hint. */
  advice = "";
  /** All that is wrong with a file, where the server tells it. */
  mistakes: FileMistake[] = [];

  constructor(status: number, message: string, reason = "", hint = "", causes: Cause[] = []) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.reason = reason;
    this.hint = hint;
    this.causes = causes;
  }
}

/** Something wrong that the page itself finds, and tells in its own language. */
export class PageError extends Error {
  readonly hint: string;

  constructor(message: string, hint = "") {
    super(message);
    this.name = "PageError";
    this.hint = hint;
  }
}

export interface FileMistake {
  message: string;
  /** `scenario.yaml:7` */
  location: string;
  hint: string;
}

export interface Cause {
  /** `spec.containers[0].image` */
  field: string;
  message: string;
}

export interface Ask {
  method?: string;
  /** Sent as it is when it is text, else as JSON. */
  body?: unknown;
  accept?: string;
  contentType?: string;
  signal?: AbortSignal;
}

/** Ask; an answer with an error status is thrown. */
export async function ask(path: string, { method = "GET", body, accept, contentType, signal }: Ask = {}) {
  const headers: Record<string, string> = { "X-CSRF-Token": sessionToken() };
  if (accept) headers.Accept = accept;
  if (body !== undefined) headers["Content-Type"] = contentType ?? "application/json";
  const sent = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, body: sent, signal: signal ?? null, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, error instanceof Error ? error.message : String(error));
  }
  if (answer.ok) return answer;
  if (answer.status === 401) endSession();
  throw await errorOf(answer);
}

/** Ask for JSON. */
export async function askJson<T>(path: string, options: Ask = {}): Promise<T> {
  return (await ask(path, { accept: "application/json", ...options })).json() as Promise<T>;
}

async function errorOf(answer: Response): Promise<ApiError> {
  const text = await answer.text();
  try {
    return refusal(JSON.parse(text), answer.status, text);
  } catch {
    return new ApiError(answer.status, text.trim() || `${answer.status} ${answer.statusText}`);
  }
}

/** What the body of an answer says: Kubernetes' Status, or an error of the simulator's. */
export interface Refusal {
  code?: number;
  message?: string;
  location?: string;
  reason?: string;
  hint?: string;
  mistakes?: FileMistake[];
  details?: { causes?: Partial<Cause>[] };
}

/** The error that a body tells; `text` stands for a message that it lacks. */
export function refusal(body: Refusal, status = body.code ?? 0, text = ""): ApiError {
  const place = body.location ? `${body.location}: ` : "";
  const message = `${place}${body.message ?? text}`;
  const error = new ApiError(status, message, body.reason ?? "", body.hint ?? "", causesOf(body));
  error.mistakes = body.mistakes ?? [];
  return error;
}

/** Read the causes of a Status; unknown fields are told in its message only. */
function causesOf(body: Refusal): Cause[] {
  const told = (body.details?.causes ?? []).map(({ field = "", message = "" }) => ({ field, message }));
  const strict = (body.message ?? "").matchAll(/(?:unknown|duplicate) field "([^"]+)"/g);
  return [...told, ...[...strict].map((match) => ({ field: match[1] ?? "", message: match[0] }))];
}

/** Yield the JSON values of an answer that comes line by line. */
export async function* lines<T>(answer: Response): AsyncGenerator<T> {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const pieces = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = pieces.pop() ?? "";
      for (const piece of pieces) if (piece) yield JSON.parse(piece) as T;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
