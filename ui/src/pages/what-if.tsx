/** Changes tried on a copy of the cluster, as it is or was at a moment of the past. The changes are part of the link. */

import { useEffect, useRef, useState } from "preact/hooks";
import { parseDocument, stringify } from "yaml";
import { type Change, type Outcome, tryOnFork } from "../api/changes";
import { WHOLE } from "../api/forms";
import { askJson, PageError } from "../api/http";
import { parse } from "../api/manifests";
import { exactly } from "../api/reflector";
import type { PageProps } from "../pages";
import { Moves } from "../parts/moves";
import { Namespaces } from "../parts/namespaces";
import "../pod/pod.css";
import { YamlEditor } from "../parts/yaml-editor";
import { Choice } from "../shell/choice";
import { Problem } from "../shell/problem";
import { amend, at } from "../shell/router";
import { Stray } from "../shell/stray";
import { texts } from "../texts";

const SECONDS = 120;
const KINDS = ["drain", "cordon", "uncordon", "delete", "scale", "patch", "apply", "schedulerConfig"] as const;
type Kind = (typeof KINDS)[number];

const OF_NODES: readonly Kind[] = ["drain", "cordon", "uncordon"];
const OF_OBJECTS: readonly Kind[] = ["delete", "scale", "patch"];
const WITH_YAML: readonly Kind[] = ["patch", "apply", "schedulerConfig"];

export default function WhatIf({ query }: PageProps) {
  const t = texts.value.whatIf;
  const moment = at.value;
  const read = changesOf(query);
  const changes = read ?? [];
  const asks = query.get("for") ?? `${SECONDS}`;
  const isStraySeconds = !/^\d+$/.test(asks);
  const seconds = isStraySeconds ? SECONDS : Number(asks);
  const [outcome, setOutcome] = useState<Outcome>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const asked = `${moment} ${seconds} ${query.get("changes")}`;
  // What came of other changes, or at another moment, is no answer any more.
  useEffect(() => setOutcome(undefined), [asked]);

  const put = (list: Change[]) => amend({ changes: list.length ? JSON.stringify(list) : "" });

  async function attempt() {
    setBusy(true);
    setError(undefined);
    try {
      if (!changes.length) throw new PageError(t.noChanges);
      setOutcome(await tryOnFork(changes, moment, seconds));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <h1>{texts.value.pages.whatIf}</h1>
      <p>{moment ? `${t.about} ${t.aboutPast}` : t.about}</p>
      {!read && <Stray name="changes" />}
      {isStraySeconds && <Stray name="for" />}
      <NewChange onAdd={(added) => put([...changes, ...added])} />
      <h2>{t.changes}</h2>
      {changes.length === 0 && <p class="muted">{t.noChanges}</p>}
      <ol>
        {changes.map((change, place) => (
          <li key={place}>
            {words(change)}{" "}
            <button
              type="button"
              class="plain"
              aria-label={t.remove(words(change))}
              onClick={() => put(changes.filter((_, other) => other !== place))}
            >
              ×
            </button>
          </li>
        ))}
      </ol>
      <div class="toolbar">
        <label class="choice">
          <span>{t.seconds}</span>
          <input
            type="number"
            min={0}
            value={seconds}
            onChange={(event) => amend({ for: event.currentTarget.value })}
          />
        </label>
        <button type="button" class="primary" disabled={isBusy} onClick={() => void attempt()}>
          {isBusy ? texts.value.help.trying : t.try}
        </button>
      </div>
      {error !== undefined && <Problem error={error} />}
      {outcome && <Moves outcome={outcome} />}
    </>
  );
}

/** The changes of the link; undefined when they cannot be read. */
function changesOf(query: URLSearchParams): Change[] | undefined {
  try {
    const found = JSON.parse(query.get("changes") || "[]");
    return Array.isArray(found) && found.every((one) => typeof one === "object" && one) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** A change in a few words. */
function words(change: Change): string {
  const kinds = texts.value.whatIf.kinds;
  const kind = KINDS.find((one) => one in change);
  if (!kind) return JSON.stringify(change);
  const namespace = change.namespace ? ` -n ${change.namespace}` : "";
  if (kind === "apply") return `${kinds.apply}: ${change.apply?.kind} ${change.apply?.metadata?.name}${namespace}`;
  if (kind === "schedulerConfig") return kinds.schedulerConfig;
  const more = kind === "scale" ? ` = ${change.replicas}` : kind === "patch" ? ` ${JSON.stringify(change.change)}` : "";
  return `${kinds[kind]}: ${change[kind]}${namespace}${more}`;
}

function NewChange({ onAdd }: { onAdd(changes: Change[]): void }) {
  const t = texts.value.whatIf;
  const [kind, setKind] = useState<Kind>("drain");
  const [target, setTarget] = useState("");
  const [namespace, setNamespace] = useState("default");
  const [replicas, setReplicas] = useState("1");
  const [start, setStart] = useState("");
  const [error, setError] = useState<unknown>();
  const yaml = useRef("");

  // Of a configuration one changes a few lines: that in force is what to begin with.
  useEffect(() => {
    yaml.current = "";
    setStart("");
    setError(undefined);
    if (kind !== "schedulerConfig") return;
    askJson("/api/v1/schedulerconfiguration").then((configuration) => {
      yaml.current = stringify(configuration, { version: "1.1", lineWidth: 0 });
      setStart(yaml.current);
    }, setError);
  }, [kind]);

  function add(event: Event) {
    event.preventDefault();
    setError(undefined);
    try {
      onAdd(made(kind, { target: target.trim(), namespace, replicas: Number(replicas), yaml: yaml.current }));
      setTarget("");
    } catch (failure) {
      setError(failure);
    }
  }

  const isOfObject = OF_OBJECTS.includes(kind);
  return (
    <form class="panel" onSubmit={add}>
      <div class="toolbar">
        <Choice
          label={t.change}
          value={kind}
          options={KINDS.map((one) => [one, t.kinds[one]])}
          onChoose={(one) => setKind(one as Kind)}
        />
        {OF_NODES.includes(kind) && <NodeName value={target} onChange={setTarget} />}
        {isOfObject && (
          <label class="choice">
            <span>{t.object}</span>
            <input
              required
              value={target}
              placeholder={t.objectLike}
              onInput={(event) => setTarget(event.currentTarget.value)}
            />
          </label>
        )}
        {(isOfObject || kind === "apply") && <Namespaces value={namespace} onChoose={setNamespace} />}
        {kind === "scale" && (
          <label class="choice">
            <span>{t.replicas}</span>
            <input
              required
              type="number"
              min={0}
              value={replicas}
              onInput={(event) => setReplicas(event.currentTarget.value)}
            />
          </label>
        )}
        <button type="submit">{t.add}</button>
      </div>
      {WITH_YAML.includes(kind) && (
        <YamlEditor
          key={kind}
          label={t.yaml}
          text={start}
          onChange={(text) => {
            yaml.current = text;
          }}
        />
      )}
      {error !== undefined && <Problem error={error} />}
    </form>
  );
}

/** So many names are offered; others can be written. */
const NAMES_MAX = 500;
const PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

function NodeName({ value, onChange }: { value: string; onChange(name: string): void }) {
  const moment = at.value;
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    const query = new URLSearchParams({ limit: `${NAMES_MAX}`, ...(moment && exactly(moment)) });
    askJson(`/k8s/api/v1/nodes?${query}`, { accept: PARTIAL_LIST }).then(
      (list) => setNames(WHOLE.itemsOf(list).map((one) => one.metadata.name)),
      // Names can be written without help, too.
      () => setNames([]),
    );
  }, [moment]);
  return (
    <label class="choice">
      <span>{texts.value.whatIf.node}</span>
      <input required list="nodes" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
      <datalist id="nodes">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

interface Given {
  target: string;
  namespace: string;
  replicas: number;
  yaml: string;
}

/** The changes that a filled form means; throws what is wrong with it. */
function made(kind: Kind, { target, namespace, replicas, yaml }: Given): Change[] {
  switch (kind) {
    case "scale":
      return [{ scale: target, replicas, namespace }];
    case "delete":
      return [{ delete: target, namespace }];
    case "patch":
      return [{ patch: target, namespace, change: objectOf(yaml) }];
    case "schedulerConfig":
      return [{ schedulerConfig: objectOf(yaml) }];
    case "apply": {
      const { manifests, mistakes } = parse(yaml);
      if (mistakes[0]) throw new Error(mistakes[0].message);
      if (!manifests.length) throw new PageError(texts.value.whatIf.notAnObject);
      return manifests.map(({ object }) => ({ apply: object, namespace }));
    }
    default:
      return [{ [kind]: target }];
  }
}

function objectOf(yaml: string): NonNullable<Change["change"]> {
  const document = parseDocument(yaml, { version: "1.1" });
  if (document.errors[0]) throw new Error(document.errors[0].message);
  const found = document.toJS();
  if (typeof found !== "object" || found === null || Array.isArray(found))
    throw new PageError(texts.value.whatIf.notAnObject);
  return found;
}
