/** The scheduler's configuration: profiles and extenders can be changed while it runs. */

import { useEffect, useRef, useState } from "preact/hooks";
import { parseDocument, stringify } from "yaml";
import { ApiError, ask, askJson } from "../api/http";
import { type Mistake, rangeOf, yamlMistakes } from "../api/manifests";
import { YamlEditor } from "../parts/yaml-editor";
import { notify, Problem } from "../shell/problem";
import { texts } from "../texts";

const PATH = "/api/v1/schedulerconfiguration";

interface Configuration {
  profiles?: unknown[];
  extenders?: unknown[];
  [field: string]: unknown;
}

export default function Scheduler() {
  const t = texts.value.scheduler;
  /** The text to begin with; `turn` makes the same text a new one. */
  const [start, setStart] = useState<{ text: string; turn: number }>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const text = useRef("");

  async function load() {
    const { profiles = [], extenders = [] } = await askJson<Configuration>(PATH);
    const words = stringify({ profiles, extenders }, { version: "1.1", lineWidth: 0 });
    text.current = words;
    setStart((before) => ({ text: words, turn: (before?.turn ?? 0) + 1 }));
  }

  useEffect(() => void load().catch(setError), []);

  async function apply() {
    setBusy(true);
    setError(undefined);
    try {
      const document = parseDocument(text.current, { version: "1.1" });
      if (document.errors[0]) throw new Error(document.errors[0].message);
      await ask(PATH, { method: "POST", body: document.toJS() ?? {} });
      notify(t.applied);
      await load();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <h1>{texts.value.pages.scheduler}</h1>
      <p>{t.about}</p>
      {error !== undefined && <Problem error={error} />}
      {start !== undefined && (
        <>
          <div class="toolbar">
            <button type="button" class="primary" disabled={isBusy} onClick={() => void apply()}>
              {t.apply}
            </button>
            <button type="button" disabled={isBusy} onClick={() => void load().catch(setError)}>
              {t.reload}
            </button>
          </div>
          <YamlEditor
            label={texts.value.pages.scheduler}
            key={start.turn}
            text={start.text}
            onChange={(value) => {
              text.current = value;
            }}
            check={mistakesOf}
          />
        </>
      )}
    </>
  );
}

/** Field paths, as kube-scheduler's messages name them: `profiles[0].plugins.score`. */
const FIELD = /\b[a-z]\w*(?:\[\d+\]|\.\w+)+/gi;

/** Let the server say whether a text could be put in force; nothing is changed. */
async function mistakesOf(text: string): Promise<Mistake[]> {
  const document = parseDocument(text, { version: "1.1" });
  const broken = yamlMistakes(document);
  if (broken.length) return broken;
  try {
    await ask(`${PATH}?dryRun=All`, { method: "POST", body: document.toJS() ?? {} });
    return [];
  } catch (error) {
    // A server that does not answer is told elsewhere.
    if (!(error instanceof ApiError) || ![400, 500].includes(error.status)) return [];
    const message = error.hint ? `${error.message}\n${error.hint}` : error.message;
    const ranges = (error.message.match(FIELD) ?? []).map((field) => rangeOf(document, field));
    const [from, to] = ranges.find(([start]) => start > 0) ?? rangeOf(document, "");
    return [{ from, to, message, severity: "error" }];
  }
}
