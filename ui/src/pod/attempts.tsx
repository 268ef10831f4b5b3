/** The attempts of a pod on a line of time; each has its link: in the past, to the moment at which it began. */

import type { Attempt } from "../api/decisions";
import { at, link, place } from "../shell/router";
import { language, texts } from "../texts";

interface AttemptsProps {
  attempts: Attempt[];
  current: { attempt: number; uid: string };
}

export function Attempts({ attempts, current }: AttemptsProps) {
  const t = texts.value.pod;
  if (attempts.length < 2) return null;
  const { path, query } = place.value;
  return (
    <nav aria-label={t.attempts}>
      <ol class="attempts" reversed>
        {attempts.map((one) => (
          <li key={`${one.uid} ${one.attempt}`}>
            <a
              href={link(path, {
                ...Object.fromEntries(query),
                ...(at.value ? { at: `${one.revision}`, attempt: "" } : { attempt: `${one.attempt}` }),
              })}
              aria-current={one.attempt === current.attempt && one.uid === current.uid ? "step" : undefined}
              class="chip"
            >
              {t.attempt(one.attempt)} · {new Date(one.time).toLocaleTimeString(language.value)} ·{" "}
              {one.node || t.results(one.result)}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
