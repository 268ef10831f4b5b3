/** The scheduler's configuration: profiles and extenders can be changed while it runs. */

import { useEffect, useRef, useState } from "preact/hooks";
import { parseDocument, stringify } from "yaml";
import { ApiError, ask, askJson } from "../api/http";
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
  const [start, setStart] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const text = useRef("");

  async function load() {
    const { profiles = [], extenders = [] } = await askJson<Configuration>(PATH);
    const words = stringify({ profiles, extenders }, { version: "1.1", lineWidth: 0 });
    text.current = words;
    setStart(words);
  }

  useEffect(() => void load().catch(setError), []);

  async function apply() {
    setBusy(true);
    setError(undefined);
    try {
      const document = parseDocument(text.current, { version: "1.1" });
      if (document.errors[0]) throw new ApiError(400, document.errors[0].message);
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
            text={start}
            onChange={(value) => {
              text.current = value;
            }}
            check={async (value) =>
              parseDocument(value, { version: "1.1" }).errors.map(({ pos, message }) => ({
                from: pos[0],
                to: pos[1],
                message,
                severity: "error",
              }))
            }
          />
        </>
      )}
    </>
  );
}
