/** What came out of a run: figures, assertions, how things were over time, how long pods waited. */

import { useState } from "preact/hooks";
import type { Points, RunResult, Series } from "../api/scenarios";
import { WideTable } from "../parts/wide-table";
import { Choice } from "../shell/choice";
import { texts } from "../texts";
import { Chart, type Line } from "./chart";
import { duration, valueWords } from "./numbers";

interface RunOfProps {
  found: RunResult;
  /** Whether it is one of several. */
  withName: boolean;
  isCancelled: boolean;
}

export function RunOf({ found, withName, isCancelled }: RunOfProps) {
  const t = texts.value.scenarios;
  const failed = found.verdicts.filter((one) => !one.holds).length;
  const value = (name: string) => found.metrics.find((one) => one.name === name)?.value;
  // Whoever asserts something says what is well; a pod that waits in the end may be meant to.
  const isWell = !isCancelled && (found.verdicts.length ? failed === 0 : !value("pods_pending"));
  const answer = isCancelled
    ? t.wasCancelled(duration(value("duration") ?? 0))
    : t.ended(found.ended, duration(value("duration") ?? 0));
  return (
    <>
      {withName && <h2>{found.scenario}</h2>}
      <p class={isWell ? "answer" : "answer waits"}>
        {answer} {found.verdicts.length > 0 && t.verdicts(found.verdicts.length - failed, found.verdicts.length)}
      </p>
      <dl class="figures">
        {FIGURES.filter((name) => value(name) !== undefined && (name !== "cost" || value(name))).map((name) => (
          <div key={name}>
            <dt>{t.figures[name]}</dt>
            <dd>{valueWords(value(name), found.metrics.find((one) => one.name === name)?.unit ?? "")}</dd>
          </div>
        ))}
      </dl>
      <Verdicts found={found} />
      {found.problems.map((problem) => (
        <p key={problem} class="stale" lang="en">
          {problem}
        </p>
      ))}
      <Waiting found={found} />
      <h2>{t.overTime}</h2>
      <OverTime names={[found.scheduler_config]} series={[found.series]} />
      <h2>{t.distributions}</h2>
      <div class="charts">
        <Waits lines={[{ name: t.waits, points: cumulated(found.waits) }]} />
        <Chart
          title={t.attempts}
          about={t.attemptsAbout}
          unit="share"
          over=""
          isStepped
          lines={[{ name: t.attempts, points: cumulatedCounts(found.attempts) }]}
        />
      </div>
      <details>
        <summary>{t.allMetrics(found.metrics.length)}</summary>
        <WideTable label={t.allMetrics(found.metrics.length)}>
          {found.metrics.map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td class="number">{valueWords(one.value, one.unit)}</td>
              <td lang="en">{one.text}</td>
            </tr>
          ))}
        </WideTable>
      </details>
      <p class="muted">
        {t.seed} {found.seed} · {t.serviceTime} <span lang="en">{found.service_time}</span>
      </p>
      <p class="muted digest">{found.digest}</p>
    </>
  );
}

/** How long pods waited: the share that waited so long at most, a line for each run. */
export function Waits({ lines }: { lines: Line[] }) {
  const t = texts.value.scenarios;
  return <Chart title={t.waits} about={t.waitsAbout} unit="share" over="s" lines={lines} />;
}

const FIGURES = [
  "pods_created",
  "pods_scheduled",
  "pods_pending",
  "pods_finished",
  "pods_failed",
  "wait_p50",
  "wait_p99",
  "wait_max",
  "preemptions",
  "nodes_used_max",
  "requested_mean.cpu",
  "requested_mean.memory",
  "cost",
] as const;

function Verdicts({ found }: { found: RunResult }) {
  const t = texts.value.scenarios;
  if (!found.verdicts.length) return null;
  return (
    <WideTable label={t.assertion} heads={[t.assertion, t.holdsHead, t.foundHead]}>
      {found.verdicts.map((one) => (
        <tr key={one.place}>
          <th scope="row" lang="en">
            {one.text}
          </th>
          <td class={one.holds ? "holds" : "fails"}>{one.holds ? t.holds : t.fails}</td>
          <td lang="en">
            {one.found}
            {one.pods.length > 0 && `: ${one.pods.slice(0, PODS_MAX).join(", ")}`}
          </td>
        </tr>
      ))}
    </WideTable>
  );
}

const PODS_MAX = 10;

function Waiting({ found }: { found: RunResult }) {
  const t = texts.value.scenarios;
  const { pods, shown } = found.waiting;
  if (!pods) return null;
  return (
    <details open={pods <= PODS_MAX}>
      <summary>{t.stillWaiting(pods)}</summary>
      <WideTable label={t.stillWaiting(pods)}>
        {shown.map((pod) => (
          <tr key={`${pod.namespace}/${pod.pod}`}>
            <th scope="row">{`${pod.namespace}/${pod.pod}`}</th>
            <td class="message" lang="en">
              {pod.message || pod.reason}
            </td>
          </tr>
        ))}
      </WideTable>
    </details>
  );
}

/** The charts of a series that are shown first. */
const FIRST = ["pending", "running", "requested.cpu", "requested.memory", "preemptions", "nodes_used"];

/** Series over time, one line for each configuration; which columns are shown can be chosen. */
export function OverTime({ names, series }: { names: string[]; series: Series[] }) {
  const t = texts.value.scenarios;
  const [isAll, setAll] = useState(false);
  const columns = [...new Set(series.flatMap((one) => Object.keys(one)))];
  const shown = isAll ? columns : FIRST.filter((name) => columns.includes(name));
  return (
    <>
      <div class="toolbar">
        <Choice
          label={t.show}
          value={isAll ? "all" : "main"}
          options={[
            ["main", t.main],
            ["all", t.all(columns.length)],
          ]}
          onChoose={(chosen) => setAll(chosen === "all")}
        />
      </div>
      <div class="charts">
        {shown.map((column) => {
          const known = series.find((one) => one[column])?.[column];
          const drawn = names.map((name, place): Line => ({ name, points: series[place]?.[column]?.points ?? [] }));
          return (
            <Chart
              key={column}
              title={column in t.columns ? t.columns[column as keyof typeof t.columns] : column}
              about={column in t.columns ? "" : <span lang="en">{known?.text}</span>}
              unit={known?.unit ?? ""}
              over="s"
              isStepped
              lines={drawn}
            />
          );
        })}
      </div>
    </>
  );
}

/** Which share of the pods waited no longer, of quantiles at 0 %, 1 % … 100 %. */
export function cumulated(quantiles: number[]): Points {
  return quantiles.map((value, percent) => [value, percent / 100]);
}

function cumulatedCounts(counts: Record<string, number>): Points {
  const entries = Object.entries(counts)
    .map(([number, pods]) => [Number(number), pods] as const)
    .sort(([a], [b]) => a - b);
  const all = entries.reduce((sum, [, pods]) => sum + pods, 0);
  let sum = 0;
  const found: Points = entries.map(([number, pods]) => {
    sum += pods;
    return [number, sum / all];
  });
  const first = found[0]?.[0] ?? 0;
  return first > 0 ? [[0, 0], ...found] : found;
}
