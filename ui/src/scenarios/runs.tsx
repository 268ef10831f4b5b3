/** The runs and comparisons that the simulator keeps; two runs can be set against each other. */

import { useEffect, useState } from "preact/hooks";
import { cancel, forget, runs, type ScenarioRun, startComparison } from "../api/scenarios";
import { useAsked } from "../parts/asked";
import { WideTable } from "../parts/wide-table";
import { notifyError, Problem } from "../shell/problem";
import { go, link } from "../shell/router";
import { language, texts } from "../texts";
import { duration } from "./numbers";

const AGAIN_MS = 1500;

export function Runs() {
  const t = texts.value.scenarios;
  const [turn, setTurn] = useState(0);
  const [chosen, setChosen] = useState<string[]>([]);
  const { value: found = [], error } = useAsked((signal) => runs(signal), [turn]);
  const isUnderWay = found.some((one) => one.state === "waiting" || one.state === "running");
  useEffect(() => {
    if (!isUnderWay) return;
    const timer = window.setInterval(() => !document.hidden && setTurn((now) => now + 1), AGAIN_MS);
    return () => window.clearInterval(timer);
  }, [isUnderWay]);

  async function does(work: Promise<unknown>) {
    await work.catch(notifyError);
    setTurn((now) => now + 1);
  }

  async function compare() {
    const [first = "", second = ""] = [...chosen].sort((a, b) => Number(a) - Number(b));
    try {
      go(["scenarios", (await startComparison({ first, second })).id]);
    } catch (failure) {
      notifyError(failure);
    }
  }

  if (error !== undefined) return <Problem error={error} />;
  if (!found.length) return null;
  return (
    <section aria-labelledby="runs">
      <h2 id="runs">{t.runs}</h2>
      <p class="muted">{t.kept}</p>
      <WideTable label={t.kept} heads={[t.number, t.scenario, t.configuration, t.seeds, t.state, t.time, t.actions]}>
        {found.map((one) => (
          <tr key={one.id}>
            <td>
              {one.kind === "run" && (
                <input
                  type="checkbox"
                  aria-label={t.choose(one.id)}
                  checked={chosen.includes(one.id)}
                  onChange={(event) => {
                    const others = chosen.filter((id) => id !== one.id);
                    setChosen(event.currentTarget.checked ? [...others.slice(-1), one.id] : others);
                  }}
                />
              )}{" "}
              <a href={link(["scenarios", one.id])}>{t.title(one.kind, one.id)}</a>
            </td>
            <td>{one.scenario}</td>
            <td>{one.configurations.map(configurationWords).join(" ↔ ")}</td>
            <td>{one.seeds || t.seedOwn}</td>
            <td>{stateWords(one)}</td>
            <td>{new Date(one.created).toLocaleTimeString(language.value)}</td>
            <td>
              {one.ended === null ? (
                <button type="button" onClick={() => void does(cancel(one.id))}>
                  {t.cancel}
                </button>
              ) : (
                <button
                  type="button"
                  aria-label={t.forgetOne(one.id)}
                  onClick={() => {
                    setChosen(chosen.filter((id) => id !== one.id));
                    void does(forget(one.id));
                  }}
                >
                  {t.forget}
                </button>
              )}
            </td>
          </tr>
        ))}
      </WideTable>
      {found.filter((one) => one.kind === "run").length > 1 && (
        <p>
          <button type="button" disabled={chosen.length !== 2} onClick={() => void compare()}>
            {t.compareTwo}
          </button>
        </p>
      )}
    </section>
  );
}

/** The state, and while it runs how far it is. */
export function stateWords(run: ScenarioRun): string {
  const t = texts.value.scenarios;
  const state = t.states[run.state];
  return run.state === "running" && run.progress ? `${state}, ${duration(run.progress.time_s)}` : state;
}

/** What a scenario's own configuration is called by the simulator. */
const OWN = "the scenario's own";

/** The name of a configuration, as it is shown. */
export function configurationWords(name: string): string {
  return name === OWN ? texts.value.scenarios.names.own : name;
}
