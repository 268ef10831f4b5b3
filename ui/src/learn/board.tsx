/** The nodes and pods of a run as they are now. */

import { useEffect } from "preact/hooks";
import type { KubeObject } from "../api/forms";
import { link, placeOf } from "../shell/router";
import { texts } from "../texts";
import { MARK } from "./lesson";
import { useLive } from "./live";
import type { Run } from "./progress";
import { lost } from "./run";

interface BoardProps {
  run: Run;
  /** Whether pods that wait also say why. */
  withMessages: boolean;
}

export function Board({ run, withMessages }: BoardProps) {
  const t = texts.value.learn;
  const nodes = useLive("nodes", "", `${MARK}=${run.name}`);
  const pods = useLive("pods", run.name, "");
  const isGone = run.isBuilt && nodes?.length === 0;
  useEffect(() => {
    if (isGone) lost();
  }, [isGone]);
  const waiting = pods?.filter((pod) => !specOf(pod).nodeName) ?? [];
  return (
    <section aria-labelledby="board">
      <h2 id="board">{t.board}</h2>
      <ul class="board">
        {nodes?.map((node) => (
          <li key={node.metadata.uid}>
            <NodeCard node={node} pods={pods?.filter((pod) => specOf(pod).nodeName === node.metadata.name) ?? []} />
          </li>
        ))}
      </ul>
      {waiting.length > 0 && (
        <p>
          {t.waiting} <Pods pods={waiting} />
        </p>
      )}
      {withMessages &&
        waiting.map(
          (pod) =>
            messageOf(pod) && (
              <pre key={pod.metadata.uid} class="words" lang="en">
                {messageOf(pod)}
              </pre>
            ),
        )}
    </section>
  );
}

interface Spec {
  nodeName?: string;
  taints?: { key: string; value?: string; effect: string }[];
  containers?: { resources?: { requests?: Record<string, string> } }[];
}

function specOf(object: KubeObject): Spec {
  return (object.spec ?? {}) as Spec;
}

/** What `kubectl describe` shows of a pod that waits. */
function messageOf(pod: KubeObject): string {
  const { conditions = [] } = (pod.status ?? {}) as { conditions?: { type: string; message?: string }[] };
  return conditions.find((one) => one.type === "PodScheduled")?.message ?? "";
}

/** Labels that every node has tell nothing. */
const PLAIN_LABELS = [MARK, "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"];

function NodeCard({ node, pods }: { node: KubeObject; pods: KubeObject[] }) {
  const t = texts.value.learn;
  const { name, labels = {} } = node.metadata;
  const { allocatable = {} } = (node.status ?? {}) as { allocatable?: Record<string, string> };
  const { taints = [] } = specOf(node);
  const told = Object.entries(labels).filter(([key]) => !PLAIN_LABELS.includes(key) && !key.startsWith("beta."));
  const own = taints.filter(({ key }) => key !== MARK);
  return (
    <>
      <h3>
        <a href={placeOf("nodes", { name })}>{name}</a>
      </h3>
      <dl>
        <dt>{t.allocatable}</dt>
        <dd>{`cpu ${allocatable.cpu}, memory ${allocatable.memory}`}</dd>
        {told.length > 0 && <dt>{t.labels}</dt>}
        {told.map(([key, value]) => (
          <dd key={key}>
            <code>{`${key}=${value}`}</code>
          </dd>
        ))}
        {own.length > 0 && <dt>{t.taints}</dt>}
        {own.map(({ key, value, effect }) => (
          <dd key={key + effect}>
            <code>{`${key}${value ? `=${value}` : ""}:${effect}`}</code>
          </dd>
        ))}
        <dt>{t.pods}</dt>
        <dd>{pods.length ? <Pods pods={pods} /> : t.noPods}</dd>
      </dl>
    </>
  );
}

function Pods({ pods }: { pods: KubeObject[] }) {
  return (
    <>
      {pods.map((pod) => {
        const { name, namespace = "" } = pod.metadata;
        return (
          <a key={name} class="chip" href={link(["pod", namespace, name])}>
            {name} <span class="muted">{requestsOf(pod)}</span>
          </a>
        );
      })}
    </>
  );
}

function requestsOf(pod: KubeObject): string {
  const asked = specOf(pod).containers?.flatMap(({ resources }) => Object.entries(resources?.requests ?? {})) ?? [];
  return asked.map(([resource, amount]) => `${resource} ${amount}`).join(", ");
}
