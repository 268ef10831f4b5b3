/** What the scheduler did, beside what was predicted; everything is read from the record of its decision. */

import { useEffect, useRef } from "preact/hooks";
import type { Explanation, NodeVerdict, Score } from "../api/decisions";
import { WideTable } from "../parts/wide-table";
import { AnswerOf } from "../pod/answer";
import { PreemptionOf } from "../pod/preemption";
import { link } from "../shell/router";
import { texts } from "../texts";
import { isSame, type Step } from "./lesson";
import type { Outcome, Trial } from "./outcome";
import type { Run } from "./progress";
import { Line, Prose } from "./prose";
import { wordsOf } from "./question";

interface RevealProps {
  run: Run;
  step: Step;
  outcome: Outcome;
  /** Whether it takes the place of the question that was just answered, and with it the focus. */
  isNew: boolean;
}

export function Reveal({ run, step, outcome, isNew }: RevealProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isNew) heading.current?.focus();
  }, []);
  const t = texts.value.learn;
  const { asks, pod, answer, explanation } = step.question;
  const said = run.said ?? [];
  const isRight = isSame(asks, said, outcome.was);
  const told = outcome.told;
  return (
    <section class="reveal" aria-labelledby="reveal">
      <div role="status">
        <h2 id="reveal" ref={heading} tabIndex={-1} class={isRight ? "good" : "bad"}>
          {isRight ? t.right : t.wrong}
        </h2>
        <p>
          {t.youSaid} <Answer step={step} names={said} />
          <br />
          {t.itDid} <strong>{<Answer step={step} names={outcome.was} />}</strong>
        </p>
      </div>
      {outcome.trials.length > 0 && <Trials step={step} trials={outcome.trials} />}
      {told ? (
        <AnswerOf told={told} />
      ) : (
        <p class="answer waits" lang="en">
          {outcome.words}
        </p>
      )}
      {told?.message && (
        <pre class="words" lang="en">
          {told.message}
        </pre>
      )}
      {told?.message && countsOthers(told, step) && <p class="muted">{t.othersCounted}</p>}
      {told && <Verdicts told={told} />}
      {told && <Scores told={told} />}
      {told?.preemption && asks === "victims" && <PreemptionOf preemption={told.preemption} />}
      <div class="lesson-text">
        <Prose words={explanation} />
      </div>
      {!isSame(asks, answer, outcome.was) && <p class="stale">{t.unusual}</p>}
      {outcome.strangers.length > 0 && <p class="stale">{t.strangers(outcome.strangers.join(", "))}</p>}
      {told && (
        <p>
          <a href={link(["pod", run.name, pod], { attempt: "1" })}>{t.podPage(pod)}</a>
        </p>
      )}
    </section>
  );
}

function Answer({ step, names }: { step: Step; names: string[] }) {
  const empty = step.question.asks === "victims" ? texts.value.learn.nobody : texts.value.learn.none;
  const separator = step.question.asks === "order" ? " > " : ", ";
  return <Line text={names.map((name) => wordsOf(step, name)).join(separator) || empty} />;
}

/** Whether kube-scheduler's message counts more nodes than the step has. */
function countsOthers(told: Explanation, step: Step): boolean {
  const own = step.objects.filter((one) => one.kind === "Node").length;
  return Number(/^\d+\/(\d+) nodes/.exec(told.message)?.[1] ?? own) > own;
}

function Verdicts({ told }: { told: Explanation }) {
  const t = texts.value.pod;
  return (
    <WideTable
      label={texts.value.learn.verdicts}
      captioned
      heads={[t.node, t.verdict, t.plugin, texts.value.learn.why]}
    >
      {told.nodes.map((one) => (
        <tr key={one.node}>
          <th scope="row">{one.node}</th>
          <td class={one.node === told.selected ? "chosen" : one.verdict === "passed" ? "good" : "bad"}>
            {one.node === told.selected ? t.chosen : t.results(one.verdict)}
          </td>
          <td>{one.failedPlugin ?? ""}</td>
          <td lang="en">{whyOf(one)}</td>
        </tr>
      ))}
    </WideTable>
  );
}

/** The reason in kube-scheduler's words, and the numbers that it rests on. */
function whyOf({ failedPlugin = "", reasons = [], facts = {} }: NodeVerdict): string {
  const numbers = (facts[failedPlugin] ?? []).filter((fact) => !fact.fits).map((fact) => fact.text);
  return [reasons.join(", "), numbers.join(", ")].filter(Boolean).join(": ");
}

function Scores({ told }: { told: Explanation }) {
  const t = texts.value.pod;
  const scored = told.nodes.filter((one) => one.scores && Object.keys(one.scores).length > 0);
  if (!scored.length) return null;
  const plugins = Object.entries(scored[0]?.scores ?? {});
  return (
    <>
      <WideTable label={t.weighted} captioned heads={[t.plugin, ...scored.map((one) => one.node)]}>
        {plugins.map(([plugin, { weight }]) => (
          <tr key={plugin}>
            <th scope="row">{`${plugin} ×${weight}`}</th>
            {scored.map((one) => (
              <td key={one.node}>{one.scores?.[plugin]?.final}</td>
            ))}
          </tr>
        ))}
        <tr>
          <th scope="row">{t.total}</th>
          {scored.map((one) => (
            <td key={one.node} class={one.node === told.selected ? "chosen" : ""}>
              {one.total}
            </td>
          ))}
        </tr>
      </WideTable>
      <details>
        <summary>{texts.value.learn.formulas}</summary>
        {plugins.map(([plugin]) => (
          <Formulas key={plugin} plugin={plugin} nodes={scored} />
        ))}
      </details>
    </>
  );
}

/** How a plugin's points come about on each node; left out where they are the same everywhere. */
function Formulas({ plugin, nodes }: { plugin: string; nodes: NodeVerdict[] }) {
  const scores = nodes.map((one) => [one.node, one.scores?.[plugin]] as const);
  if (new Set(scores.map(([, score]) => score?.final)).size < 2) return null;
  return (
    <>
      <h3>{plugin}</h3>
      <ul>
        {scores.map(([node, score]) => (
          <li key={node}>
            {node}: {score && <code>{formulaOf(score)}</code>}
          </li>
        ))}
      </ul>
    </>
  );
}

function formulaOf({ raw, weight, final, formula = "", normalization = "" }: Score): string {
  const first = `${formula} = ${raw}`;
  return normalization ? `${first}; ${normalization} = ${final / weight}` : first;
}

function Trials({ step, trials }: { step: Step; trials: Trial[] }) {
  const t = texts.value.learn;
  return (
    <WideTable label={t.trials} captioned heads={[t.fix, texts.value.pod.node, t.why]}>
      {trials.map(({ fix, node, why }) => (
        <tr key={fix}>
          <th scope="row">
            <Line text={wordsOf(step, fix)} />
          </th>
          <td class={node ? "good" : "bad"}>{node || t.waits}</td>
          <td lang="en">{why}</td>
        </tr>
      ))}
    </WideTable>
  );
}
