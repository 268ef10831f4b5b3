/** The pods that wait, by their reasons, with the cheapest fix of each group; and what keeps free room from use. */

import { useEffect, useState } from "preact/hooks";
import { type Capacity, type Group, pending, type Suggestion, whyNotFull } from "../api/decisions";
import type { PageProps } from "../pages";
import { useAsked } from "../parts/asked";
import { Namespaces } from "../parts/namespaces";
import { SuggestionItem } from "../pod/help";
import "../pod/pod.css";
import { WideTable } from "../parts/wide-table";
import { Problem } from "../shell/problem";
import { amend, at, link } from "../shell/router";
import { texts } from "../texts";

const AGAIN_MS = 10_000;
/** Of so many groups a fix is searched. */
const FIXES = 10;

export default function PendingBoard({ query }: PageProps) {
  const t = texts.value.pending;
  const namespace = query.get("namespace") ?? "";
  const turn = useTurns();
  const moment = at.value;
  const { value, error } = useAsked((signal) => pending(namespace, 0, moment, signal), [namespace, turn, moment]);
  // Searching takes a while, and fixes are the same as long as the reasons are.
  const reasons = JSON.stringify(value?.groups.map((group) => group.reasons) ?? []);
  const { value: helped } = useAsked(
    (signal) => pending(namespace, FIXES, moment, signal),
    [namespace, reasons, moment],
  );
  const { value: capacity } = useAsked((signal) => whyNotFull(moment, signal), [turn, moment]);
  const trend = useTrend(value?.pending, `${namespace} ${moment}`);
  return (
    <>
      <h1>{texts.value.pages.pending}</h1>
      <div class="toolbar">
        <Namespaces value={namespace} onChoose={(chosen) => amend({ namespace: chosen })} everything={t.everywhere} />
        {value && <strong>{t.count(value.pending, value.pods)}</strong>}
        {trend !== 0 && <span class={trend > 0 ? "bad" : "good"}>{t.trend(trend)}</span>}
      </div>
      {error !== undefined && <Problem error={error} />}
      {helped?.groups.some((group) => group.fix) && <p class="muted">{texts.value.help.costs}</p>}
      {value && <Groups groups={value.groups} helped={helped?.groups ?? []} />}
      {capacity && <Room capacity={capacity} />}
    </>
  );
}

/** Counts up while the page is seen and shows now: each turn asks again. */
function useTurns(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => !document.hidden && !at.value && setTurn((now) => now + 1), AGAIN_MS);
    return () => window.clearInterval(timer);
  }, []);
  return turn;
}

/** How many more pods wait than when this view of them was opened. */
function useTrend(count: number | undefined, view: string): number {
  const [first, setFirst] = useState<{ view: string; count: number }>();
  useEffect(() => {
    if (count !== undefined && first?.view !== view) setFirst({ view, count });
  }, [count, view, first]);
  return count === undefined || first?.view !== view ? 0 : count - first.count;
}

/** `helped`: the same groups with fixes, when they have been found. */
function Groups({ groups, helped }: { groups: Group[]; helped: Group[] }) {
  if (!groups.length) return <p>{texts.value.pending.none}</p>;
  return (
    <>
      {groups.map((group) => (
        <GroupOf key={group.message} group={group} fix={helped.find((one) => one.message === group.message)?.fix} />
      ))}
    </>
  );
}

const SHOWN = 20;

function GroupOf({ group, fix }: { group: Group; fix: Suggestion | null | undefined }) {
  const t = texts.value.pending;
  return (
    <section class="panel">
      <h2>{t.group(group.count)}</h2>
      <ul>
        {group.reasons.map(({ reason, nodes }) => (
          <li key={reason}>
            <span lang="en">{reason}</span> – {t.nodes(nodes)}
          </li>
        ))}
      </ul>
      {!group.reasons.length && <p lang="en">{group.message}</p>}
      <p>
        {group.pods.slice(0, SHOWN).map((pod) => (
          <a key={pod} class="chip" href={link(["pod", ...pod.split("/")])}>
            {pod}
          </a>
        ))}
        {group.count > SHOWN && ` … ${t.more(group.count - SHOWN)}`}
      </p>
      {fix && (
        <>
          <h3>{t.fix}</h3>
          <ul class="suggestions" aria-label={t.fix}>
            <SuggestionItem suggestion={fix} at={at.value} />
          </ul>
        </>
      )}
    </section>
  );
}

function Room({ capacity }: { capacity: Capacity }) {
  const t = texts.value.pending;
  return (
    <section aria-labelledby="room">
      <h2 id="room">{t.room}</h2>
      <WideTable label={`${t.room}: ${t.resource}`} heads={[t.resource, t.allocatable, t.requested, t.free, t.causes]}>
        {capacity.resources.map((one) => (
          <tr key={one.resource}>
            <th scope="row">{one.resource}</th>
            <td class="amount">{one.allocatable}</td>
            <td class="amount">{one.requested}</td>
            <td class="amount">{one.free}</td>
            <td>
              {one.causes
                .map(({ cause, amount, share }) => `${t.why[cause] ?? cause} ${amount} (${Math.round(share * 100)} %)`)
                .join(", ")}
            </td>
          </tr>
        ))}
      </WideTable>
      {capacity.largestPod && <p>{t.largest(capacity.largestPod.cpu, capacity.largestPod.memory)}</p>}
      {capacity.typicalPod && (
        <p>{t.typical(capacity.typicalPod.cpu, capacity.typicalPod.memory, capacity.typicalPod.fit)}</p>
      )}
    </section>
  );
}
