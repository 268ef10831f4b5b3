/** Where the pod waits, what would wake it, and its way through the queue. */

import type { Explanation, Queue } from "../api/decisions";
import { language, texts } from "../texts";

export function QueueOf({ told }: { told: Explanation }) {
  const t = texts.value.queue;
  if (!told.queue && !told.moves.length) return null;
  return (
    <section aria-labelledby="queue">
      <h2 id="queue">{t.title}</h2>
      {told.queue && <Waiting queue={told.queue} />}
      {told.moves.length > 0 && (
        <details>
          <summary>{t.moves(told.moves.length)}</summary>
          <ol>
            {told.moves.map((move, at) => (
              <li key={at}>
                {clock(move.time)} ·{" "}
                <span lang="en">
                  {move.place} · {move.reason}
                </span>
              </li>
            ))}
          </ol>
        </details>
      )}
    </section>
  );
}

function Waiting({ queue }: { queue: Queue }) {
  const t = texts.value.queue;
  return (
    <>
      <p>{t.place(queue.place, clock(queue.since))}</p>
      {queue.backoffEnds && <p>{t.backoff(clock(queue.backoffEnds))}</p>}
      {queue.flushedAfter && <p class="muted">{t.flush(clock(queue.flushedAfter))}</p>}
      {queue.wokenBy.length > 0 && (
        <>
          <h3>{t.wokenBy}</h3>
          <ul>
            {queue.wokenBy.map(({ plugin, events }) => (
              <li key={plugin}>
                {plugin}: <span lang="en">{events.join(", ")}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {queue.skipped.length > 0 && (
        <details>
          <summary>{t.skipped}</summary>
          <ul>
            {queue.skipped.map(({ event, count, last, answers }) => (
              <li key={event}>
                {event} ×{count} ({clock(last)}):{" "}
                {Object.entries(answers)
                  .map(([plugin, answer]) => `${plugin} ${answer}`)
                  .join(", ")}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString(language.value);
}
