/** The whole way of the pod, from the request on. */

import { traceOf } from "../api/decisions";
import { useAsked } from "../parts/asked";
import { texts } from "../texts";

interface TraceProps {
  namespace: string;
  name: string;
  version: number;
  /** Up to when; empty is all of it. */
  until: string;
}

export function Trace({ namespace, name, version, until }: TraceProps) {
  const t = texts.value.pod;
  const { value } = useAsked((signal) => traceOf(namespace, name, signal), [namespace, name, version]);
  // Of pods that came before the simulator began to look nothing is known.
  if (!value) return null;
  return (
    <section aria-labelledby="trace">
      <h2 id="trace">{t.trace}</h2>
      <ol class="trace">
        {value
          .filter((span) => !until || span.at <= until)
          .map((span, at) => (
            <li key={at}>
              <span class="muted">{`+${span.afterSeconds.toFixed(3)} s`}</span>{" "}
              <span lang="en">
                <strong>{span.step}</strong> {span.text}
              </span>
            </li>
          ))}
      </ol>
    </section>
  );
}
