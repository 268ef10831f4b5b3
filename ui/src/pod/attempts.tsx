/** The attempts of a pod on a line of time; each has its link. */

import type { Attempt } from "../api/decisions";
import { link, place } from "../shell/router";
import { language, texts } from "../texts";

export function Attempts({ attempts, current }: { attempts: Attempt[]; current: number }) {
  const t = texts.value.pod;
  if (attempts.length < 2) return null;
  const { path, query } = place.value;
  return (
    <nav aria-label={t.attempts}>
      <ol class="attempts" reversed>
        {attempts.map((one) => (
          <li key={one.attempt}>
            <a
              href={link(path, { ...Object.fromEntries(query), attempt: `${one.attempt}` })}
              aria-current={one.attempt === current ? "step" : undefined}
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
