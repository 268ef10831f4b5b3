/** One run or comparison: watched while it goes on, and what came out of it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { lines } from "../api/http";
import {
  cancel,
  fileOf,
  progressOf,
  type Result,
  type Row,
  resultOf,
  type ScenarioRun,
  type Told,
} from "../api/scenarios";
import { Stream } from "../api/stream";
import { saveAs } from "../parts/save";
import { notifyError, Problem } from "../shell/problem";
import { link } from "../shell/router";
import { texts } from "../texts";
import { Chart } from "./chart";
import { ComparisonOf } from "./comparison";
import { duration } from "./numbers";
import { RunOf } from "./result";
import { configurationWords, stateWords } from "./runs";

export function RunPage({ id }: { id: string }) {
  const t = texts.value.scenarios;
  const { run, rows, result, error, speed } = useRun(id);
  return (
    <>
      <h1>{run ? `${t.title(run.kind, id)}: ${run.scenario}` : t.title("run", id)}</h1>
      <p class="muted">
        <a href={link(["scenarios"])}>{t.back}</a>
        {run && ` · ${run.configurations.map(configurationWords).join(" ↔ ")}`}
        {run?.seeds && ` · ${t.seeds} ${run.seeds}`}
      </p>
      {error !== undefined && <Problem error={error} />}
      {run && (
        <>
          <Head run={run} speed={speed} />
          {run.error && (
            <Problem
              error={new Error([run.error.location, run.error.message, run.error.hint].filter(Boolean).join(": "))}
            />
          )}
          {run.files.length > 0 && <Files run={run} />}
          {result ? <ResultOf run={run} result={result} /> : <Live run={run} rows={rows} />}
        </>
      )}
    </>
  );
}

interface Followed {
  run?: ScenarioRun;
  rows: Row[];
  result?: Result;
  error?: unknown;
  /** Virtual seconds that pass in one. */
  speed: number;
}

/** Follow a run until it is over, and then ask what came out. */
function useRun(id: string): Followed {
  const [state, setState] = useState<Followed>({ rows: [], speed: 0 });
  const before = useRef<{ at: number; time: number; run: string }>(undefined);
  useEffect(() => {
    const failed = (error: unknown) => setState((now) => ({ ...now, error }));
    const stream: Stream = new Stream(async (signal, isWell) => {
      for await (const { run, rows, fresh } of lines<Told>(await progressOf(id, signal))) {
        isWell();
        const speed = speedOf(run, before);
        setState((now) => ({ ...now, run, speed: speed ?? now.speed, rows: fresh ? rows : [...now.rows, ...rows] }));
        if (run.ended === null) continue;
        const { run: ended, result } = await resultOf(id, signal);
        setState((now) => ({ ...now, run: ended, ...(result && { result }) }));
        stream.stop();
      }
    }, failed);
    stream.start();
    return () => stream.stop();
  }, [id]);
  return state;
}

function speedOf(run: ScenarioRun, before: { current: { at: number; time: number; run: string } | undefined }) {
  if (!run.progress) return undefined;
  const now = { at: performance.now(), time: run.progress.time_s, run: `${run.progress.seed} ${run.progress.variant}` };
  const last = before.current;
  if (last && last.time === now.time && last.run === now.run) return undefined;
  before.current = now;
  const isSame = last?.run === now.run && now.at > last.at;
  return isSame ? ((now.time - last.time) * 1000) / (now.at - last.at) : undefined;
}

function Head({ run, speed }: { run: ScenarioRun; speed: number }) {
  const t = texts.value.scenarios;
  const [isAsked, setAsked] = useState(false);
  const isOver = run.ended !== null;
  const { progress } = run;
  return (
    <div class="toolbar">
      <strong role="status">{stateWords(run)}</strong>
      {!isOver && progress && (
        <span class="muted">
          {progress.seeds !== undefined && t.seedOf((progress.done ?? 0) + 1, progress.seeds)}{" "}
          {progress.until_s !== null && t.until(duration(progress.until_s))} {speed > 0 && t.speed(Math.round(speed))}
        </span>
      )}
      {!isOver && (
        <button
          type="button"
          disabled={isAsked}
          onClick={() => {
            setAsked(true);
            cancel(run.id).catch(notifyError);
          }}
        >
          {t.cancel}
        </button>
      )}
    </div>
  );
}

function Files({ run }: { run: ScenarioRun }) {
  const save = (name: string) =>
    fileOf(run.id, name).then(
      (content) => saveAs(content, `${run.scenario.replace(/\.\w+$/, "")}-${run.id}-${name.replaceAll("/", "-")}`),
      notifyError,
    );
  return (
    <p>
      {texts.value.scenarios.save}{" "}
      {run.files.map((name) => (
        <button key={name} type="button" class="plain made" onClick={() => void save(name)}>
          {name}
        </button>
      ))}
    </p>
  );
}

function ResultOf({ run, result }: { run: ScenarioRun; result: Result }) {
  return (
    <>
      {result.warnings?.map((warning) => (
        <p key={warning} class="stale" lang="en">
          {warning}
        </p>
      ))}
      {result.comparison && <ComparisonOf found={result.comparison} />}
      {result.runs?.map((one, place) => (
        <RunOf
          key={place}
          found={one}
          withName={(result.runs?.length ?? 0) > 1}
          isCancelled={run.state === "cancelled"}
        />
      ))}
    </>
  );
}

/** What is shown while a run goes on: columns of its samples, their units, and whether they count from the start. */
const WATCHED = [
  ["pending", ""],
  ["running", ""],
  ["requested.cpu", "share"],
  ["requested.memory", "share"],
  ["used.cpu", "share"],
  ["used.memory", "share"],
  ["wait_p95", "s"],
  ["preemptions", ""],
] as const;

function Live({ run, rows }: { run: ScenarioRun; rows: Row[] }) {
  const t = texts.value.scenarios;
  const variants = [...new Set(rows.map((row) => row.variant))].sort();
  const shown = WATCHED.filter(([column]) => rows.some((row) => row[column]));
  if (!rows.length) return run.ended === null ? <p>{texts.value.shell.loading}</p> : <p>{t.nothingCame}</p>;
  return (
    <div class="charts">
      {shown.map(([column, unit]) => (
        <Chart
          key={column}
          title={t.columns[column]}
          unit={unit}
          over="s"
          isStepped
          lines={variants.map((variant) => ({
            name: run.configurations[variant] ?? `${variant + 1}`,
            points: rows
              .filter((row) => row.variant === variant && row[column] !== undefined)
              .map((row) => [row.time_s, row[column] as number]),
          }))}
        />
      ))}
    </div>
  );
}
