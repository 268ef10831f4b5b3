/** What another scheduler configuration changes: metric by metric with how sure that is, and pod by pod with the reason. */

import { useState } from "preact/hooks";
import type { ComparedMetric, ComparisonResult, Difference, Moved } from "../api/scenarios";
import { WideTable } from "../parts/wide-table";
import { Choice } from "../shell/choice";
import { texts } from "../texts";
import { changeWords, valueWords } from "./numbers";
import { cumulated, OverTime, Waits } from "./result";
import { configurationWords } from "./runs";

export function ComparisonOf({ found }: { found: ComparisonResult }) {
  const t = texts.value.scenarios;
  const letters = found.configs.map((_, place) => letterOf(place));
  return (
    <>
      {found.interrupted && <p class="stale">{t.interrupted(found.seeds.length)}</p>}
      {found.configs.slice(1).map((name, place) => (
        <Answer key={place} found={found} place={place} name={name} />
      ))}
      <ul class="legend">
        {found.configs.map((name, place) => (
          <li key={place}>
            <strong>{letters[place]}</strong> {configurationWords(name)}
          </li>
        ))}
      </ul>
      <Failures found={found} letters={letters} />
      <h2>{t.metrics}</h2>
      <Metrics found={found} letters={letters} />
      <h2>{t.overTimeOf(found.seeds[0] ?? 1)}</h2>
      <OverTime names={letters} series={found.series} />
      <h2>{t.distributions}</h2>
      <div class="charts">
        <Waits lines={letters.map((name, place) => ({ name, points: cumulated(found.waits[place] ?? []) }))} />
      </div>
      {found.moved.map((one, place) => (
        <MovedPods key={place} moved={one} letter={letterOf(place + 1)} />
      ))}
      <p class="muted">
        {t.seeds} {found.seeds.join(", ")} · {t.serviceTime} <span lang="en">{found.serviceTime}</span>
      </p>
    </>
  );
}

function letterOf(place: number): string {
  return String.fromCharCode("A".charCodeAt(0) + place);
}

type Verdict = "better" | "worse" | "";

/** Whether a difference is for the better, when that is clear. */
function verdictOf(difference: Difference | null | undefined, better: ComparedMetric["better"]): Verdict {
  if (!difference?.clear || !better || !difference.mean) return "";
  return difference.mean < 0 === (better === "lower") ? "better" : "worse";
}

function Answer({ found, place, name }: { found: ComparisonResult; place: number; name: string }) {
  const t = texts.value.scenarios;
  const verdicts = found.metrics.map((one) => verdictOf(one.differences[place], one.better));
  const better = verdicts.filter((one) => one === "better").length;
  const worse = verdicts.filter((one) => one === "worse").length;
  const pods = found.moved[place]?.pods ?? 0;
  const isWell = worse <= better && !found.interrupted && found.failed.every((runs) => !runs[place + 1]?.length);
  return (
    <p class={isWell ? "answer" : "answer waits"}>
      {t.answer(configurationWords(name), better, worse, pods)} {found.seeds.length < 2 && t.oneSeed}
    </p>
  );
}

function Failures({ found, letters }: { found: ComparisonResult; letters: string[] }) {
  const t = texts.value.scenarios;
  const told = letters.flatMap((letter, place) =>
    found.failed.flatMap((runs, seed) =>
      (runs[place] ?? []).map((text) => `${letter}, ${t.seed} ${found.seeds[seed]}: ${text}`),
    ),
  );
  if (!told.length) return null;
  return (
    <div class="problem">
      <strong>{t.assertionsFail}</strong>
      <ul>
        {told.map((one) => (
          <li key={one} lang="en">
            {one}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Metrics({ found, letters }: { found: ComparisonResult; letters: string[] }) {
  const t = texts.value.scenarios;
  const [isAll, setAll] = useState(false);
  const different = found.metrics.filter((one) => new Set(one.means).size > 1);
  const shown = isAll ? found.metrics : different;
  return (
    <>
      <div class="toolbar">
        <Choice
          label={t.show}
          value={isAll ? "all" : "different"}
          options={[
            ["different", t.different(different.length)],
            ["all", t.all(found.metrics.length)],
          ]}
          onChoose={(chosen) => setAll(chosen === "all")}
        />
        <span class="muted">{t.interval}</span>
      </div>
      {shown.length === 0 ? (
        <p>{t.same}</p>
      ) : (
        <WideTable label={t.metrics} head={<MetricHeads letters={letters} />}>
          {shown.map((one) => (
            <MetricRow key={one.name} metric={one} />
          ))}
        </WideTable>
      )}
    </>
  );
}

function MetricHeads({ letters }: { letters: string[] }) {
  return (
    <>
      <th scope="col">{texts.value.scenarios.metric}</th>
      {letters.map((letter) => (
        <th key={letter} scope="col" class="number">
          {letter}
        </th>
      ))}
      {letters.slice(1).map((letter) => (
        <MetricHead key={letter} text={`${letter} − A`} />
      ))}
    </>
  );
}

/** A difference has its verdict beside it, which needs no head. */
function MetricHead({ text }: { text: string }) {
  return (
    <>
      <th scope="col" class="number">
        {text}
      </th>
      <td />
    </>
  );
}

function MetricRow({ metric }: { metric: ComparedMetric }) {
  const t = texts.value.scenarios;
  return (
    <tr>
      <th scope="row" lang="en" title={metric.text}>
        {metric.name}
      </th>
      {metric.means.map((mean, place) => (
        <td key={place} class="number">
          {valueWords(mean, metric.unit)}
        </td>
      ))}
      {metric.differences.map((difference, place) => {
        const verdict = verdictOf(difference, metric.better);
        return [
          <td key={`${place}-difference`} class="number">
            {difference ? differenceWords(difference, metric.unit) : "–"}
          </td>,
          <td key={`${place}-verdict`} class={verdict === "better" ? "holds" : verdict === "worse" ? "fails" : "muted"}>
            {verdict ? t[verdict] : difference?.mean ? t.unclear : ""}
          </td>,
        ];
      })}
    </tr>
  );
}

function differenceWords({ mean, low, high }: Difference, unit: string): string {
  const words = changeWords(mean, unit);
  return low === null || high === null ? words : `${words} [${changeWords(low, unit)}, ${changeWords(high, unit)}]`;
}

const SHOWN = 50;

function MovedPods({ moved, letter }: { moved: ComparisonResult["moved"][number]; letter: string }) {
  const t = texts.value.scenarios;
  const [plugin, setPlugin] = useState("");
  const chosen = moved.described.filter((one) => !plugin || flippedBy(one) === plugin);
  return (
    <section>
      <h2>{t.moved(moved.pods, letter, configurationWords(moved.config))}</h2>
      {moved.pods > 0 && (
        <>
          <div class="toolbar">
            <Choice
              label={t.flippedBy}
              value={plugin}
              options={[
                ["", t.all(moved.pods)],
                ...Object.entries(moved.byPlugin).map(([name, pods]) => [name, `${name} (${pods})`] as const),
              ]}
              onChoose={setPlugin}
            />
          </div>
          <WideTable
            label={t.moved(moved.pods, letter, configurationWords(moved.config))}
            heads={[t.pod, t.seed, "A", letter, t.flippedBy, t.why]}
          >
            {chosen.slice(0, SHOWN).map((one) => (
              <tr key={`${one.seed} ${one.pod}`}>
                <th scope="row">{one.pod}</th>
                <td>{one.seed}</td>
                <td>{one.before || texts.value.moves.waits}</td>
                <td>{one.after || texts.value.moves.waits}</td>
                <td>{flippedBy(one)}</td>
                <td>
                  <span lang="en">{one.reason}</span>
                  {one.decisions && <Decisions one={one} letter={letter} />}
                </td>
              </tr>
            ))}
          </WideTable>
          {chosen.length > SHOWN && <p class="muted">{t.moreInFile(chosen.length - SHOWN)}</p>}
        </>
      )}
    </section>
  );
}

function flippedBy(one: Moved): string {
  return one.cause === "configuration" ? one.plugin || one.how : one.cause;
}

/** The points of the best nodes, under both. */
function Decisions({ one, letter }: { one: Moved; letter: string }) {
  const t = texts.value.scenarios;
  return (
    <details>
      <summary>{t.points}</summary>
      {one.decisions?.map((decision, place) => (
        <WideTable
          key={place}
          label={`${one.pod}: ${place ? letter : "A"}`}
          captioned
          heads={[t.node, t.total, ...decision.plugins]}
        >
          {decision.rows.map((row) => (
            <tr key={row.node} class={row.node === decision.selected ? "chosen" : ""}>
              <th scope="row">{row.node}</th>
              <td>{row.total}</td>
              {row.scores.map((score, index) => (
                <td key={index}>{score}</td>
              ))}
            </tr>
          ))}
        </WideTable>
      ))}
    </details>
  );
}
