/** Which scenario is run, with which scheduler configurations; nothing runs before the button is pressed. */

import { useEffect, useRef, useState } from "preact/hooks";
import { stringify } from "yaml";
import { askJson } from "../api/http";
import {
  type Configuration,
  mistakesOf,
  type Offered,
  offered,
  scenarioFieldsAt,
  startComparison,
  startRun,
  textOf,
  type Written,
  wholeError,
} from "../api/scenarios";
import { useAsked } from "../parts/asked";
import { YamlEditor } from "../parts/yaml-editor";
import { Choice } from "../shell/choice";
import { Problem } from "../shell/problem";
import { amend, go } from "../shell/router";
import { texts } from "../texts";

const FIRST = "first-steps.yaml";
/** What is chosen, where it is no file. */
const WRITTEN = "written";
const NONE = "none";
const OWN = "own";
const CLUSTER = "cluster";
const NEW = "apiVersion: schedlab.dev/v1alpha1\nkind: Scenario\ncluster:\n  nodes:\n  - count: 3\n";

export function Start({ query }: { query: URLSearchParams }) {
  const t = texts.value.scenarios;
  const { value: offer, error } = useAsked((signal) => offered(signal), []);
  const names = offer?.scenarios.map((one) => one.name) ?? [];
  const chosen = query.get("scenario") ?? (names.includes(FIRST) ? FIRST : (names[0] ?? WRITTEN));
  const [start, setStart] = useState("");
  const text = useRef("");
  const [failure, setFailure] = useState<unknown>();

  function begin(words: string) {
    text.current = words;
    setStart(words);
    setFailure(undefined);
  }

  useEffect(() => {
    if (!offer) return;
    if (chosen !== WRITTEN) textOf(chosen).then(begin, setFailure);
    else if (!text.current) begin(NEW);
  }, [chosen, offer]);

  if (error !== undefined) return <Problem error={error} />;
  if (!offer) return <p>{texts.value.shell.loading}</p>;
  const written = (): Written => ({ text: text.current, ...(chosen !== WRITTEN && { scenario: chosen }) });
  return (
    <>
      <p>{t.about}</p>
      <div class="toolbar">
        <Choice
          label={t.scenario}
          value={chosen}
          options={[...names.map((name) => [name, name] as const), [WRITTEN, t.written]]}
          onChoose={(name) => amend({ scenario: name })}
        />
        <label class="choice">
          <span>{t.file}</span>
          <input
            type="file"
            accept=".yaml,.yml,.json"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (!file) return;
              amend({ scenario: WRITTEN });
              file.text().then(begin, setFailure);
            }}
          />
        </label>
        <span class="muted" lang="en">
          {offer.scenarios.find((one) => one.name === chosen)?.about}
        </span>
      </div>
      <div class="short">
        <YamlEditor
          label={t.scenario}
          text={start}
          onChange={(value) => {
            text.current = value;
          }}
          check={(value) => mistakesOf(value, { ...written(), text: value }, false).catch(() => [])}
          fieldsAt={(_, path) => scenarioFieldsAt(path)}
        />
      </div>
      <Begin offer={offer} written={written} query={query} failure={failure} onFailure={setFailure} />
    </>
  );
}

interface BeginProps {
  offer: Offered;
  written(): Written;
  query: URLSearchParams;
  failure: unknown;
  onFailure(error: unknown): void;
}

function Begin({ offer, written, query, failure, onFailure }: BeginProps) {
  const t = texts.value.scenarios;
  const first = query.get("config") ?? OWN;
  const second = query.get("with") ?? NONE;
  const isComparison = second !== NONE;
  const [seeds, setSeeds] = useState("");
  const [isBusy, setBusy] = useState(false);
  const own = useRef<Record<string, string>>({});

  async function configuration(chosen: string, slot: string): Promise<Configuration> {
    if (chosen === OWN) return {};
    if (chosen === CLUSTER) return { name: t.names.cluster, text: await textOfCluster() };
    if (chosen === WRITTEN) return { name: `${t.names.written} ${slot}`, text: own.current[slot] ?? "" };
    return { name: chosen };
  }

  async function press() {
    setBusy(true);
    onFailure(undefined);
    try {
      const body = written();
      const before = await configuration(first, "A");
      const seed = seeds.trim();
      const run = isComparison
        ? await startComparison({
            ...body,
            configurations: [before, await configuration(second, "B")],
            seeds: seed || "1",
          })
        : await startRun({ ...body, configuration: before, ...(seed && { seed: Number(seed) }) });
      go(["scenarios", run.id]);
    } catch (error) {
      onFailure(wholeError(error));
    } finally {
      setBusy(false);
    }
  }

  const options = [
    [OWN, t.own],
    [CLUSTER, t.cluster],
    ...offer.configurations.map((one) => [one.name, one.name] as const),
    [WRITTEN, t.written],
  ] as const;
  const slots = [
    ["A", first],
    ["B", second],
  ] as const;
  return (
    <>
      <fieldset class="configurations short">
        <legend>{t.configuration}</legend>
        <div class="toolbar">
          <Choice
            label={isComparison ? "A" : t.scheduler}
            value={first}
            options={options}
            onChoose={(config) => amend({ config })}
          />
          <Choice
            label={isComparison ? "B" : t.compareWith}
            value={second}
            options={[[NONE, t.nothing], ...options]}
            onChoose={(chosen) => amend({ with: chosen })}
          />
          <label class="choice">
            <span>{isComparison ? t.seeds : t.seed}</span>
            <input
              size={8}
              value={seeds}
              placeholder={isComparison ? "1..5" : t.seedOwn}
              inputMode={isComparison ? "text" : "numeric"}
              onInput={(event) => setSeeds(event.currentTarget.value)}
            />
          </label>
          <button
            type="button"
            class="primary"
            disabled={isBusy || (!isComparison && !/^\s*\d*\s*$/.test(seeds))}
            onClick={() => void press()}
          >
            {isComparison ? t.compare : t.run}
          </button>
        </div>
        {slots.map(
          ([slot, chosen]) =>
            chosen === WRITTEN && <OwnConfiguration key={slot} slot={slot} written={written} texts={own.current} />,
        )}
      </fieldset>
      {failure !== undefined && <Problem error={failure} />}
    </>
  );
}

interface OwnConfigurationProps {
  slot: string;
  written(): Written;
  texts: Record<string, string>;
}

/** A configuration that is written here; it begins as the one of this cluster. */
function OwnConfiguration({ slot, written, texts: own }: OwnConfigurationProps) {
  const t = texts.value.scenarios;
  const [start, setStart] = useState(own[slot]);
  useEffect(() => {
    if (start !== undefined) return;
    const begin = (words: string) => {
      own[slot] = words;
      setStart(words);
    };
    textOfCluster().then(begin, () => begin(""));
  }, []);
  if (start === undefined) return <p>{texts.value.shell.loading}</p>;
  const name = `${t.names.written} ${slot}`;
  return (
    <YamlEditor
      label={name}
      text={start}
      onChange={(value) => {
        own[slot] = value;
      }}
      check={(value) => mistakesOf(value, { ...written(), configuration: { name, text: value } }, true).catch(() => [])}
    />
  );
}

async function textOfCluster(): Promise<string> {
  const { profiles, extenders } = await askJson<Record<string, unknown>>("/api/v1/schedulerconfiguration");
  const found = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration", profiles };
  return stringify(extenders ? { ...found, extenders } : found, { version: "1.1", lineWidth: 0 });
}
