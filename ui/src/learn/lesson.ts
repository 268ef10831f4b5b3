/**
 * Lessons as their files have them (`lessons/`, one YAML file each), and the objects of a step as they are created.
 *
 * `-$RUN` in a file stands for what makes the names of one run its own. What a run makes keeps to itself: its nodes have a
 * taint that only its pods tolerate, its pods select its nodes, and everything outside its namespace is owned by that
 * namespace and goes with it.
 */

import { parse } from "yaml";
import type { Change } from "../api/changes";
import type { KubeObject } from "../api/forms";
import type { Language } from "../texts";

export type Words = Record<Language, string>;

/** What is to be predicted of the first decision about a pod. */
export type Asks =
  /** The node it goes to, or PENDING. */
  | "node"
  /** The plugin that turns `node` down. */
  | "plugin"
  /** The nodes, from the highest total score to the lowest. */
  | "order"
  /** The pods that are preempted for it, or none. */
  | "victims"
  /** The one among `fixes` with which it gets a node. */
  | "fix";

export const PENDING = "pending";

export interface Fix {
  name: string;
  text: Words;
  changes: Change[];
}

export interface Question {
  asks: Asks;
  text: Words;
  /** Whose decision is predicted. */
  pod: string;
  /** Made once the prediction is; empty when the pod is there before. */
  create: KubeObject[];
  node?: string;
  /** The plugins to choose from. */
  options?: string[];
  fixes?: Fix[];
  /** What the default configuration decides while nothing else is in the way; a test makes sure of it. */
  answer: string[];
  explanation: Words;
}

export interface Step {
  title: Words;
  text: Words;
  objects: KubeObject[];
  question: Question;
}

export interface Lesson {
  id: string;
  title: Words;
  about: Words;
  steps: Step[];
}

interface Written extends Omit<Lesson, "id" | "steps"> {
  /** The same in every step, before its own. */
  objects?: KubeObject[];
  steps: (Omit<Step, "objects" | "question"> & {
    objects?: KubeObject[];
    question: Omit<Question, "create" | "answer"> & { create?: KubeObject[]; answer: string | string[] };
  })[];
}

/** Read a lesson; `suffix` makes names the run's own, without one they are shown as they are written. */
export function read(id: string, file: string, suffix = ""): Lesson {
  const written: Written = parse(file.replaceAll("-$RUN", suffix && `-${suffix}`));
  const steps = written.steps.map(({ objects = [], question, ...step }) => ({
    ...step,
    objects: [...(written.objects ?? []), ...objects],
    question: { ...question, create: question.create ?? [], answer: [question.answer].flat() },
  }));
  return { id, title: written.title, about: written.about, steps };
}

/** The names of what an answer to the question may be. */
export function choices(step: Step): string[] {
  const { asks, options = [], fixes = [], pod } = step.question;
  const named = (kind: string) => step.objects.filter((one) => one.kind === kind).map((one) => one.metadata.name);
  if (asks === "plugin") return options;
  if (asks === "fix") return fixes.map((fix) => fix.name);
  if (asks === "victims") return named("Pod").filter((name) => name !== pod);
  return asks === "node" ? [...named("Node"), PENDING] : named("Node");
}

/** Whether two answers are the same; the order counts where it is asked about. */
export function isSame(asks: Asks, a: string[], b: string[]): boolean {
  const key = (answer: string[]) => JSON.stringify(asks === "order" ? answer : answer.toSorted());
  return key(a) === key(b);
}

/** Marks the nodes of a run, and what else of it lies outside of its namespace; the value is the namespace. */
export const MARK = "schedlab.dev/lesson";

/** The namespace of a run, that of its server. */
export interface Owner {
  name: string;
  uid: string;
}

type Fields = Record<string, unknown>;

/** An object as it is created: kept to the run. */
export function kept(object: KubeObject, owner: Owner, isNamespaced: boolean): KubeObject {
  const made = structuredClone(object);
  if (!isNamespaced) {
    Object.assign(made.metadata, {
      labels: { ...made.metadata.labels, [MARK]: owner.name },
      ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: owner.name, uid: owner.uid }],
    });
  }
  if (made.kind === "Node") return keptNode(made, owner);
  const spec = made.spec as { template?: { spec: Fields } } | undefined;
  const podSpec = made.kind === "Pod" ? (spec as Fields) : spec?.template?.spec;
  if (podSpec) {
    podSpec.nodeSelector = { ...(podSpec.nodeSelector as Fields), [MARK]: owner.name };
    podSpec.tolerations = [...((podSpec.tolerations as Fields[]) ?? []), toleration(owner)];
  }
  return made;
}

function taint({ name }: Owner): Fields {
  return { key: MARK, value: name, effect: "NoSchedule" };
}

function toleration(owner: Owner): Fields {
  return { ...taint(owner), operator: "Equal" };
}

function keptNode(node: KubeObject, owner: Owner): KubeObject {
  const spec = (node.spec ?? {}) as { taints?: Fields[] };
  node.metadata.labels = { ...node.metadata.labels, "kubernetes.io/hostname": node.metadata.name };
  node.spec = { ...spec, taints: [...(spec.taints ?? []), taint(owner)] };
  return node;
}

/** A change as it is made: in the namespace of the run, and with what keeps to the run where a list is written anew. */
export function keptChange(change: Change, owner: Owner): Change {
  if (change.uncordon) return change;
  if (change.apply) return { apply: kept(change.apply, owner, change.apply.kind !== "Node"), namespace: owner.name };
  const made = structuredClone({ ...change, namespace: owner.name });
  const { tolerations, taints } = (made.change?.spec ?? {}) as { tolerations?: Fields[]; taints?: Fields[] };
  tolerations?.push(toleration(owner));
  taints?.push(taint(owner));
  return made;
}
