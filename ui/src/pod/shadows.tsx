/** What other configurations, which decide in the shadow, would have made of the attempt. */

import { type Explanation, type Shadow, shadowsOf } from "../api/decisions";
import { useAsked } from "../parts/asked";
import { texts } from "../texts";

interface ShadowsProps {
  namespace: string;
  name: string;
  version: number;
  told: Explanation;
}

export function Shadows({ namespace, name, version, told }: ShadowsProps) {
  const { value } = useAsked((signal) => shadowsOf(namespace, name, signal), [namespace, name, version, told.attempt]);
  const asked = value?.filter((shadow) => shadow.schedulers.includes(told.scheduler)) ?? [];
  if (!asked.length || told.placedBy) return null;
  return (
    <section aria-labelledby="shadows">
      <h2 id="shadows">{texts.value.pod.shadows}</h2>
      <ul>
        {asked.map((shadow) => (
          <li key={shadow.location}>
            <strong>{shadow.name}</strong>: <Decided shadow={shadow} told={told} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Decided({ shadow, told }: { shadow: Shadow; told: Explanation }) {
  const t = texts.value.pod;
  const found = shadow.pods.find((one) => one.uid === told.uid && one.attempt === told.attempt);
  if (!found) return <>{t.shadowAgrees}</>;
  return (
    <>
      {found.shadowNode ? t.shadowChooses(found.shadowNode) : t.shadowFindsNone}{" "}
      <span class="muted" lang="en">
        {found.reason}
      </span>
    </>
  );
}
