/** Why a pod is where it is, or why it waits: one attempt of it, opened up. */

import { useEffect, useState } from "preact/hooks";
import { type Attempt, attemptsOf, documentOf, type Explanation, explain } from "../api/decisions";
import { type KubeObject, WHOLE } from "../api/forms";
import { ask, askJson } from "../api/http";
import { findKind, pathOf } from "../api/kinds";
import { exactly, Reflector } from "../api/reflector";
import type { PageProps } from "../pages";
import { useAsked } from "../parts/asked";
import { saveAs } from "../parts/save";
import "../pod/pod.css";
import { AnswerOf } from "../pod/answer";
import { Attempts } from "../pod/attempts";
import { ChoiceOf } from "../pod/choice";
import { HelpFor } from "../pod/help";
import { NumbersOf } from "../pod/numbers";
import { PreemptionOf } from "../pod/preemption";
import { QueueOf } from "../pod/queue";
import { Shadows } from "../pod/shadows";
import { Trace } from "../pod/trace";
import { Verdicts } from "../pod/verdicts";
import { notifyError, Problem } from "../shell/problem";
import { at, link, place, placeOf } from "../shell/router";
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
  const moment = at.value;
  const vs = query.get("vs") ?? "";
  const node = query.get("node") ?? "";
  const version = useVersion(namespace, name, moment);
  const { value: attempts } = useAsked((signal) => attemptsOf(namespace, name, signal), [namespace, name, version]);
  // Of the past, the newest attempt that had begun.
  const then = moment ? attempts?.find((one) => one.revision <= moment) : undefined;
  const attempt = moment ? `${then?.attempt ?? ""}` : (query.get("attempt") ?? "");
  const uid = then?.uid ?? "";
  const isKnown = !moment || then !== undefined;
  const { value: told, error } = useAsked(
    async (signal) => (isKnown ? explain(namespace, name, { attempt, vs, uid }, signal) : undefined),
    [namespace, name, attempt, vs, uid, isKnown, version],
  );
  if (error !== undefined) return <Problem error={error} />;
  if (attempts && !isKnown) return <Untried namespace={namespace} name={name} />;
  if (!told || !isKnown) return <p>{texts.value.shell.loading}</p>;
  return (
    <Explained told={told} attempts={attempts ?? []} view={{ namespace, name, attempt, uid, vs, node, version }} />
  );
}

/** What the past has of a pod before its first attempt. */
function Untried({ namespace, name }: { namespace: string; name: string }) {
  return (
    <>
      <p class="answer waits">{texts.value.pod.notTriedYet}</p>
      <PodThen namespace={namespace} name={name} />
    </>
  );
}

interface View {
  namespace: string;
  name: string;
  /** Empty is the newest one. */
  attempt: string;
  uid: string;
  vs: string;
  node: string;
  version: number;
}

function Explained({ told, attempts, view }: { told: Explanation; attempts: Attempt[]; view: View }) {
  const t = texts.value.pod;
  const { query } = place.value;
  const { namespace, name, attempt, uid, vs, node, version } = view;
  const moment = at.value;
  const isPast = moment > 0 || attempt !== "";
  const asked = { attempt, uid, vs, node };
  const waits = moment ? !told.selected : told.state.state === "pending";
  return (
    <>
      <AnswerOf told={told} />
      <p class="muted">
        <a href={placeOf("pods", { name, namespace })}>{t.object}</a> · {told.scheduler} ·{" "}
        {moment ? <PodThen namespace={namespace} name={name} /> : <PodNow told={told} />} ·{" "}
        {told.revision > 0 && moment !== told.revision && (
          <>
            <a href={link(["map"], { at: `${told.revision}` })}>{t.cluster}</a> ·{" "}
          </>
        )}
        <Export path={documentOf(namespace, name, asked)} name={`${name}-${told.attempt}.html`} />
      </p>
      {told.warnings.map((warning) => (
        <p key={warning} class="stale" lang="en">
          {warning}
        </p>
      ))}
      {told.message && (
        <pre class="words" lang="en">
          {told.message}
        </pre>
      )}
      <Attempts attempts={moment ? attempts : attempts.filter((one) => one.uid === told.uid)} current={told} />
      {waits && <HelpFor key={attempt} {...{ namespace, name, attempt }} at={isPast ? told.revision : 0} />}
      <Verdicts told={told} filter={query.get("filter") ?? ""} shown={query.get("show") ?? ""} node={node} />
      {node && <NumbersOf {...{ namespace, name, uid, node, version }} attempt={`${told.attempt}`} />}
      {told.choice && <ChoiceOf told={told} choice={told.choice} vs={vs} />}
      <Shadows {...{ namespace, name, version, told }} />
      {told.preemption && <PreemptionOf preemption={told.preemption} />}
      {told.extenders.length > 0 && (
        <details>
          <summary>{t.extenders}</summary>
          <pre>{JSON.stringify(told.extenders, null, 2)}</pre>
        </details>
      )}
      <QueueOf told={moment ? { ...told, queue: null, moves: told.moves.filter(isUntil(told.time)) } : told} />
      <Trace namespace={namespace} name={name} version={version} until={moment ? told.time : ""} />
    </>
  );
}

function isUntil(time: string): (one: { time: string }) => boolean {
  return (one) => one.time <= time;
}

function PodNow({ told }: { told: Explanation }) {
  return (
    <>
      {texts.value.pod.states(told.state.state)}
      {told.state.text && <span lang="en">{` (${told.state.text})`}</span>}
    </>
  );
}

/** Where the pod was at the moment that is shown. */
function PodThen({ namespace, name }: { namespace: string; name: string }) {
  const t = texts.value.pod;
  const moment = at.value;
  const { value: pod } = useAsked((signal) => podAt(namespace, name, moment, signal), [namespace, name, moment]);
  if (pod === undefined) return <>{texts.value.shell.loading}</>;
  if (pod === null) return <>{t.notThen}</>;
  return <>{pod.spec?.nodeName ? t.on(pod.spec.nodeName, pod.status?.phase ?? "") : t.waited}</>;
}

interface PodObject extends KubeObject {
  spec?: { nodeName?: string };
  status?: { phase?: string };
}

async function podAt(namespace: string, name: string, moment: number, signal: AbortSignal): Promise<PodObject | null> {
  const query = new URLSearchParams({ fieldSelector: `metadata.name=${name}`, ...exactly(moment) });
  const list = await askJson(`${pathOf(await findKind("pods"), namespace)}?${query}`, { signal });
  return WHOLE.itemsOf(list)[0] ?? null;
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

/** Grows whenever the pod changes, but not in the past; a pod that is gone keeps its decisions. */
function useVersion(namespace: string, name: string, moment: number): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    if (moment) return undefined;
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
  }, [namespace, name, moment > 0]);
  return version;
}
