/** Making objects: from a template, from files, or from what is written here. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { KubeObject } from "../api/forms";
import { PageError } from "../api/http";
import { findKind, type Kind, kindOf } from "../api/kinds";
import { check, create, parse, refusalsToCreate } from "../api/manifests";
import { fieldsAt } from "../api/schemas";
import type { PageProps } from "../pages";
import { Namespaces } from "../parts/namespaces";
import { YamlEditor } from "../parts/yaml-editor";
import { Choice } from "../shell/choice";
import { Problem } from "../shell/problem";
import { amend, placeOf } from "../shell/router";
import { skeleton, TEMPLATES } from "../templates";
import { texts } from "../texts";

interface Outcome {
  /** What was made, or what was not. */
  text: string;
  /** Where what was made is shown. */
  place: string;
  error?: unknown;
}

export default function Create({ parameters, query }: PageProps) {
  const t = texts.value.create;
  const [kindId] = parameters;
  const namespace = query.get("namespace") || "default";
  const template = query.get("template") ?? kindId ?? "pods";
  const [start, setStart] = useState("");
  const [outcomes, setOutcomes] = useState<Outcome[]>([]);
  const [isBusy, setBusy] = useState(false);
  const text = useRef("");
  // The name comes from the link: "constructor" is no template.
  const isKnown = Object.hasOwn(TEMPLATES, template);

  function begin(words: string) {
    text.current = words;
    setStart(words);
    setOutcomes([]);
  }

  useEffect(() => {
    if (isKnown) begin(TEMPLATES[template] ?? "");
    else
      findKind(template).then(
        (kind: Kind) => begin(skeleton(kind)),
        () => begin(""),
      );
  }, [template]);

  async function open(files: FileList | null) {
    const found = await Promise.all([...(files ?? [])].sort(byName).map((file) => file.text()));
    begin(found.join("\n---\n"));
  }

  async function createAll() {
    setBusy(true);
    const { manifests, mistakes } = parse(text.current);
    const made: Outcome[] = mistakes.map(({ message }) => ({
      text: t.unread,
      place: "",
      error: new Error(message),
    }));
    if (!mistakes.length && !manifests.length) made.push({ text: "", place: "", error: new PageError(t.nothing) });
    if (!mistakes.length) for (const { object } of manifests) made.push(await outcomeOf(object, namespace));
    setOutcomes(made);
    setBusy(false);
  }

  const templates = Object.keys(TEMPLATES).map((name) => [name, name === "shop" ? t.shop : name] as const);
  return (
    <>
      <h1>{texts.value.pages.create}</h1>
      <div class="toolbar">
        <Choice
          label={t.template}
          value={template}
          options={isKnown ? templates : [...templates, [template, template]]}
          onChoose={(name) => amend({ template: name })}
        />
        <Namespaces value={namespace} onChoose={(chosen) => amend({ namespace: chosen })} />
        <label class="choice">
          <span>{t.files}</span>
          <input
            type="file"
            multiple
            accept=".yaml,.yml,.json"
            onChange={(event) => void open(event.currentTarget.files)}
          />
        </label>
        <button type="button" class="primary" disabled={isBusy} onClick={() => void createAll()}>
          {t.create}
        </button>
      </div>
      <Outcomes outcomes={outcomes} />
      <YamlEditor
        label={texts.value.pages.create}
        text={start}
        onChange={(value) => {
          text.current = value;
        }}
        check={(value) => check(value, (objects) => refusalsToCreate(objects, namespace)).catch(() => [])}
        fieldsAt={async (document, path) => {
          const [apiVersion = "", kind = ""] = ["apiVersion", "kind"].map(
            (key) => new RegExp(`^${key}: *["']?([\\w./-]+)`, "m").exec(document)?.[1],
          );
          return fieldsAt(await kindOf(apiVersion, kind), path);
        }}
      />
    </>
  );
}

const byName = (a: File, b: File) => (a.name < b.name ? -1 : 1);

async function outcomeOf(object: KubeObject, namespace: string): Promise<Outcome> {
  try {
    const [kind, made] = await create(object, namespace);
    return { text: `${kind.kind} ${made.metadata.name}`, place: placeOf(kind.id, made.metadata) };
  } catch (error) {
    return { text: `${object.kind} ${object.metadata?.name ?? ""}`, place: "", error };
  }
}

function Outcomes({ outcomes }: { outcomes: Outcome[] }) {
  const t = texts.value.create;
  const made = outcomes.filter((one) => !one.error);
  return (
    <div role="status">
      {made.length > 0 && (
        <p>
          {t.made(made.length)}{" "}
          {made.slice(0, SHOWN_MAX).map((one) => (
            <a key={one.place} class="made" href={one.place}>
              {one.text}
            </a>
          ))}
          {made.length > SHOWN_MAX && "…"}
        </p>
      )}
      <Failures failed={outcomes.filter((one) => one.error)} />
    </div>
  );
}

/** What could not be made: the first in full, more of them folded away. */
function Failures({ failed }: { failed: Outcome[] }) {
  const [first, ...others] = failed.map((one, index) => (
    <div key={index}>
      <strong>{one.text}</strong>
      <Problem error={one.error} />
    </div>
  ));
  return (
    <>
      {first}
      {others.length > 0 && (
        <details>
          <summary>{texts.value.create.failed(others.length)}</summary>
          {others}
        </details>
      )}
    </>
  );
}

const SHOWN_MAX = 20;
