/** One node opened up: what every plugin's verdict rests on, and how every score comes about. */

import { explain, type Score } from "../api/decisions";
import { useAsked } from "../parts/asked";
import { Problem } from "../shell/problem";
import { amend, placeOf } from "../shell/router";
import { texts } from "../texts";

interface NumbersProps {
  namespace: string;
  name: string;
  attempt: string;
  uid: string;
  node: string;
  version: number;
}

export function NumbersOf({ namespace, name, attempt, uid, node, version }: NumbersProps) {
  const t = texts.value.pod;
  const { value, error } = useAsked(
    (signal) => explain(namespace, name, { attempt, uid, node }, signal),
    [namespace, name, attempt, uid, node, version],
  );
  const told = value?.nodes.find((one) => one.node === node);
  return (
    <section class="panel" aria-labelledby="numbers">
      <h2 id="numbers">
        <a href={placeOf("nodes", { name: node })}>{node}</a>
      </h2>
      <button type="button" class="plain" onClick={() => amend({ node: "" })}>
        {t.close}
      </button>
      {error !== undefined && <Problem error={error} />}
      {value && !told && <p>{t.notLookedAt}</p>}
      {told && (
        <ul class="facts">
          {Object.entries(told.plugins).map(([plugin, said]) => (
            <li key={plugin}>
              <strong class={said === "passed" ? "good" : "bad"}>{plugin}</strong>:{" "}
              {said === "passed" ? t.passed : <span lang="en">{said}</span>}
              {told.facts?.[plugin]?.map((fact) => (
                <p key={fact.text} class={fact.fits ? "fact" : "fact bad"} lang="en">
                  {fact.text}
                </p>
              ))}
            </li>
          ))}
        </ul>
      )}
      {told?.scores && (
        <>
          <h3>{t.scores}</h3>
          {Object.entries(told.scores).map(([plugin, score]) => (
            <ScoreOf key={plugin} plugin={plugin} score={score} />
          ))}
        </>
      )}
    </section>
  );
}

function ScoreOf({ plugin, score }: { plugin: string; score: Score }) {
  const t = texts.value.pod;
  return (
    <details>
      <summary>
        {plugin}: {t.scoreOf(score.raw, score.weight, score.final)}
      </summary>
      {score.formula && (
        <p>
          {t.formula}: <code>{`${score.formula} = ${score.raw}`}</code>
        </p>
      )}
      {score.normalization && (
        <p>
          {t.normalized}: <code>{`${score.normalization} = ${score.final / score.weight}`}</code>
        </p>
      )}
      <pre>{JSON.stringify({ ...(score.inputs as object), ...(score.normalizationInputs as object) }, null, 2)}</pre>
    </details>
  );
}
