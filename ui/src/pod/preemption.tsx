/** Whom the pod could push aside: candidates, their victims, and the rung of the ladder that decided. */

import type { Preemption } from "../api/decisions";
import { WideTable } from "../parts/wide-table";
import { texts } from "../texts";

export function PreemptionOf({ preemption }: { preemption: Preemption }) {
  const t = texts.value.preemption;
  const others = Object.entries(preemption.notCandidates);
  return (
    <section aria-labelledby="preemption">
      <h2 id="preemption">{t.title}</h2>
      {preemption.candidates.length === 0 && <p>{t.none}</p>}
      {preemption.candidates.length > 0 && (
        <WideTable
          label={
            preemption.decidedBy ? t.decidedBy(t.rungs[preemption.decidedBy] ?? preemption.decidedBy) : t.candidates
          }
          captioned
          heads={[t.node, t.victims, t.budgets, t.top, t.sum, t.start]}
        >
          {preemption.candidates.map((one) => (
            <tr key={one.node} class={preemption.best.includes(one.node) ? "chosen" : ""}>
              <th scope="row">{one.node}</th>
              <td>{one.victims.join(", ")}</td>
              <td>{one.pdbViolations}</td>
              <td>{one.merit?.topPriority}</td>
              <td>{one.merit?.prioritySum}</td>
              <td>{one.merit?.start}</td>
            </tr>
          ))}
        </WideTable>
      )}
      {others.length > 0 && (
        <details>
          <summary>{t.notCandidates(others.length)}</summary>
          <ul>
            {others.slice(0, 200).map(([node, status]) => (
              <li key={node}>
                {node}: <span lang="en">{status.message}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
