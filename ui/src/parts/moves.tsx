/** What came of changes on a fork: the pods that are elsewhere; of the past, with where they were in truth. */

import type { Move, Outcome } from "../api/changes";
import { language, texts } from "../texts";
import { WideTable } from "./wide-table";

export function Moves({ outcome }: { outcome: Outcome }) {
  const t = texts.value.moves;
  return (
    <div class="outcome" role="status">
      {outcome.really ? <Compared outcome={outcome} /> : <Plain outcome={outcome} />}
      <ul>
        {outcome.problems.map((problem) => (
          <li key={problem} class="bad" lang="en">
            {problem}
          </li>
        ))}
      </ul>
      {!outcome.moves.length && !outcome.really && <p>{t.none}</p>}
    </div>
  );
}

function Plain({ outcome }: { outcome: Outcome }) {
  const t = texts.value.moves;
  if (!outcome.moves.length) return null;
  return (
    <>
      <p>{t.later(outcome.ranForSeconds)}</p>
      <ul>
        {outcome.moves.map((move) => (
          <li key={move.pod}>
            <strong>{move.pod}</strong>: {spot(move.before)} → {spot(move.after)}{" "}
            <span class="muted" lang="en">
              {move.why}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Pods that are elsewhere than they were in truth come first. */
function Compared({ outcome }: { outcome: Outcome }) {
  const t = texts.value.moves;
  const otherwise = (move: Move) => move.after !== move.really;
  const moves = [...outcome.moves].sort((a, b) => Number(otherwise(b)) - Number(otherwise(a)));
  const { time = "", came = 0 } = outcome.really ?? {};
  return (
    <>
      <p>
        <strong>{t.otherwise(moves.filter(otherwise).length, outcome.pods)}</strong>{" "}
        {t.compared(outcome.ranForSeconds, time && new Date(time).toLocaleTimeString(language.value))}{" "}
        {came > 0 && t.came(came)}
      </p>
      {moves.length > 0 && (
        <WideTable
          label={t.otherwise(moves.filter(otherwise).length, outcome.pods)}
          heads={[t.pod, t.before, t.copy, t.really, t.why]}
        >
          {moves.map((move) => (
            <tr key={move.pod}>
              <th scope="row">{move.pod}</th>
              <td>{move.before === null ? t.notYet : spot(move.before)}</td>
              <td class={otherwise(move) ? "otherwise" : ""}>{spot(move.after)}</td>
              <td>{spot(move.really ?? null)}</td>
              <td class="muted" lang="en">
                {move.why}
              </td>
            </tr>
          ))}
        </WideTable>
      )}
    </>
  );
}

function spot(node: string | null): string {
  const t = texts.value.moves;
  return node === null ? t.gone : node || t.waits;
}
