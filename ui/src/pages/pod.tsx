/** Why a pod is where it is, or why it waits: one attempt of it, opened up. */

import { useEffect, useState } from "preact/hooks";
import { attemptsOf, documentOf, explain } from "../api/decisions";
import { type KubeObject, WHOLE } from "../api/forms";
import { ask } from "../api/http";
import { findKind, pathOf } from "../api/kinds";
import { Reflector } from "../api/reflector";
import type { PageProps } from "../pages";
import { useAsked } from "../parts/asked";
import { saveAs } from "../parts/save";
import "../pod/pod.css";
import { Attempts } from "../pod/attempts";
import { ChoiceOf } from "../pod/choice";
import { HelpFor } from "../pod/help";
import { NumbersOf } from "../pod/numbers";
import { PreemptionOf } from "../pod/preemption";
import { QueueOf } from "../pod/queue";
import { Trace } from "../pod/trace";
import { Verdicts } from "../pod/verdicts";
import { notifyError, Problem } from "../shell/problem";
import { placeOf } from "../shell/router";
import { texts } from "../texts";

export default function PodPage({ parameters, query }: PageProps) {
  const [namespace = "", name = ""] = parameters;
  return (
    <>
      <h1>{`${namespace}/${name}`}</h1>
      <Decision key={`${namespace}/${name}`} namespace={namespace} name={name} query={query} />
    </>
  );
}

interface DecisionProps {
  namespace: string;
  name: string;
  query: URLSearchParams;
}

function Decision({ namespace, name, query }: DecisionProps) {
  const t = texts.value.pod;
  const attempt = query.get("attempt") ?? "";
  const vs = query.get("vs") ?? "";
  const node = query.get("node") ?? "";
  const version = useVersion(namespace, name);
  const { value: told, error } = useAsked(
    (signal) => explain(namespace, name, { attempt, vs }, signal),
    [namespace, name, attempt, vs, version],
  );
  const { value: attempts = [] } = useAsked(
    (signal) => attemptsOf(namespace, name, signal),
    [namespace, name, version],
  );
  if (error !== undefined) return <Problem error={error} />;
  if (!told) return <p>{texts.value.shell.loading}</p>;
  return (
    <>
      <p class={told.selected ? "answer" : "answer waits"}>{told.answer}</p>
      <p class="muted">
        <a href={placeOf("pods", { name, namespace })}>{t.object}</a> · {told.scheduler} · {t.states(told.state.state)}
        {told.state.text && ` (${told.state.text})`} ·{" "}
        <Export path={documentOf(namespace, name, { attempt, vs, node })} name={`${name}-${told.attempt}.html`} />
      </p>
      {told.warnings.map((warning) => (
        <p key={warning} class="stale">
          {warning}
        </p>
      ))}
      {told.message && <pre class="words">{told.message}</pre>}
      <Attempts attempts={attempts} current={told.attempt} />
      {told.state.state === "pending" && <HelpFor namespace={namespace} name={name} attempt={attempt} />}
      <Verdicts told={told} filter={query.get("filter") ?? ""} shown={query.get("show") ?? ""} node={node} />
      {node && (
        <NumbersOf namespace={namespace} name={name} attempt={`${told.attempt}`} node={node} version={version} />
      )}
      {told.choice && <ChoiceOf told={told} choice={told.choice} vs={vs} />}
      {told.preemption && <PreemptionOf preemption={told.preemption} />}
      {told.extenders.length > 0 && (
        <details>
          <summary>{t.extenders}</summary>
          <pre>{JSON.stringify(told.extenders, null, 2)}</pre>
        </details>
      )}
      <QueueOf told={told} />
      <Trace namespace={namespace} name={name} version={version} />
    </>
  );
}

/** Saves the explanation as one page that stands alone. */
function Export({ path, name }: { path: string; name: string }) {
  const save = async () => {
    try {
      const page = await (await ask(path)).blob();
      saveAs(page, name);
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <button type="button" class="plain" onClick={save}>
      {texts.value.pod.export}
    </button>
  );
}

/** Grows whenever the pod changes; a pod that is gone keeps its decisions. */
function useVersion(namespace: string, name: string): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let reflector: Reflector<KubeObject> | undefined;
    let isOver = false;
    findKind("pods").then(
      (kind) => {
        if (isOver) return;
        const selection = { fieldSelector: `metadata.name=${name}` };
        const changed = () => setVersion((now) => now + 1);
        reflector = new Reflector(pathOf(kind, namespace), selection, WHOLE, { changed, failed: () => undefined });
        reflector.start();
      },
      () => undefined,
    );
    return () => {
      isOver = true;
      reflector?.stop();
    };
  }, [namespace, name]);
  return version;
}
