/** Why this node: ties, margin, the runner-up point by point, the weights in which the choice stands, and luck. */

import type { Choice, Explanation, Versus } from "../api/decisions";
import { WideTable } from "../parts/wide-table";
import { amend } from "../shell/router";
import { texts } from "../texts";

export function ChoiceOf({ told, choice, vs }: { told: Explanation; choice: Choice; vs: string }) {
  const t = texts.value.pod;
  const other = told.versus ?? told.runnerUp;
  const others = told.nodes.filter((one) => one.total !== undefined && one.node !== told.selected);
  return (
    <section aria-labelledby="choice">
      <h2 id="choice">{t.why(told.selected)}</h2>
      <p>{t.margin(choice.total, choice.margin, choice.tied.length, choice.candidates)}</p>
      {choice.tied.length > 1 && (
        <p class="muted">
          {t.tied}: {choice.tied.slice(0, 20).join(", ")}
          {choice.tied.length > 20 && " …"}
        </p>
      )}
      {others.length > 0 && (
        <div class="toolbar">
          <label class="choice">
            <span>{t.versus}</span>
            {/* What is being typed stays when the pod changes meanwhile. */}
            <input
              key={vs || other?.node}
              list="candidates"
              defaultValue={vs || (other?.node ?? "")}
              onChange={(event) => amend({ vs: event.currentTarget.value })}
            />
          </label>
          <datalist id="candidates">
            {others.slice(0, 500).map((one) => (
              <option key={one.node} value={one.node} />
            ))}
          </datalist>
        </div>
      )}
      {other && <Difference selected={told.selected} other={other} />}
      <Weights choice={choice} />
      {choice.luck && (
        <details>
          <summary>{t.luck(choice.luck.seeds)}</summary>
          <ul>
            {Object.entries(choice.luck.outcomes)
              .sort(([, a], [, b]) => b - a)
              .map(([node, count]) => (
                <li key={node}>
                  {node}: {count}
                </li>
              ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Difference({ selected, other }: { selected: string; other: Versus }) {
  const t = texts.value.pod;
  return (
    <WideTable label={t.difference(selected, other.node, other.margin)} captioned heads={[t.plugin, t.points]}>
      {Object.entries(other.byPlugin).map(([plugin, points]) => (
        <tr key={plugin}>
          <th scope="row">{plugin}</th>
          <td class={points > 0 ? "good" : points < 0 ? "bad" : "muted"}>{points > 0 ? `+${points}` : points}</td>
        </tr>
      ))}
    </WideTable>
  );
}

function Weights({ choice }: { choice: Choice }) {
  const t = texts.value.pod;
  const rows = Object.entries(choice.weights);
  if (!rows.length) return null;
  return (
    <details>
      <summary>{t.weights}</summary>
      <WideTable label={t.weights} heads={[t.plugin, t.weight, t.stands]}>
        {rows.map(([plugin, { weight, least, greatest }]) => (
          <tr key={plugin}>
            <th scope="row">{plugin}</th>
            <td>{weight}</td>
            <td>{`${least} – ${greatest ?? "∞"}`}</td>
          </tr>
        ))}
      </WideTable>
    </details>
  );
}
