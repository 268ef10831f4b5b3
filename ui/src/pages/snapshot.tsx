/** The cluster as a file: saved, loaded, and back to how it was at the start. */

import { useState } from "preact/hooks";
import { parse, stringify } from "yaml";
import { ask, askJson } from "../api/http";
import { Confirm } from "../parts/confirm";
import { saveAs } from "../parts/save";
import { notify, Problem } from "../shell/problem";
import { texts } from "../texts";

export default function Snapshot() {
  const t = texts.value.snapshot;
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const [withReplace, setWithReplace] = useState(false);

  async function run(work: () => Promise<unknown>, done: string) {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      notify(done);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  }

  async function load(file: File) {
    // JSON is YAML, but much quicker to read as what it is.
    const text = await file.text();
    const document = text.trimStart().startsWith("{") ? JSON.parse(text) : parse(text, { version: "1.1" });
    await ask(`/api/v1/import${withReplace ? "?replace=true" : ""}`, { method: "POST", body: document });
  }

  return (
    <>
      <h1>{texts.value.pages.snapshot}</h1>
      {error !== undefined && <Problem error={error} />}
      <section>
        <h2>{t.export}</h2>
        <p>{t.exportAbout}</p>
        <div class="toolbar">
          <button type="button" disabled={isBusy} onClick={() => void run(exportYaml, t.exported)}>
            {t.exportYaml}
          </button>
          <button type="button" disabled={isBusy} onClick={() => void run(exportJson, t.exported)}>
            {t.exportJson}
          </button>
        </div>
      </section>
      <section>
        <h2>{t.import}</h2>
        <p>{t.importAbout}</p>
        <div class="toolbar">
          <label class="choice">
            <span>{t.file}</span>
            <input
              type="file"
              accept=".yml,.yaml,.json"
              disabled={isBusy}
              onChange={(event) => {
                const file = event.currentTarget.files?.[0];
                if (file) void run(() => load(file), t.imported);
              }}
            />
          </label>
          <label>
            <input
              type="checkbox"
              checked={withReplace}
              onChange={(event) => setWithReplace(event.currentTarget.checked)}
            />{" "}
            {t.replace}
          </label>
        </div>
      </section>
      <section>
        <h2>{t.reset}</h2>
        <p>{t.resetAbout}</p>
        <button type="button" class="danger" disabled={isBusy} onClick={() => setAsked(true)}>
          {t.reset}
        </button>
      </section>
      {isAsked && (
        <Confirm
          question={t.sure}
          action={t.reset}
          onAnswer={(isYes) => {
            setAsked(false);
            if (isYes) void run(() => ask("/api/v1/reset", { method: "PUT" }), t.resetDone);
          }}
        />
      )}
    </>
  );
}

const EXPORT = "/api/v1/export";

async function exportYaml(): Promise<void> {
  saveAs(
    new Blob([stringify(await askJson(EXPORT), { version: "1.1", lineWidth: 0 })], { type: "application/yaml" }),
    "export.yml",
  );
}

async function exportJson(): Promise<void> {
  saveAs(new Blob([await (await ask(EXPORT)).text()], { type: "application/json" }), "export.json");
}
