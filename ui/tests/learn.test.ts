/** How lessons are read, kept to themselves, and answered. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../src/api/changes.ts";
import type { Explanation } from "../src/api/decisions.ts";
import type { KubeObject } from "../src/api/forms.ts";
import { choices, isSame, kept, keptChange, MARK, type Question, read } from "../src/learn/lesson.ts";
import { answerOf } from "../src/learn/outcome.ts";

const OWNER = { name: "lesson-x", uid: "1" };
const TAINT = { key: MARK, value: "lesson-x", effect: "NoSchedule" };
const TOLERATION = { ...TAINT, operator: "Equal" };

function object(kind: string, more: object = {}): KubeObject {
  return { apiVersion: "v1", kind, metadata: { name: "a" }, ...more } as KubeObject;
}

const FILE = `
title: {en: A, ko: B}
about: {en: A, ko: B}
objects: [{kind: Node, metadata: {name: one-$RUN}}, {kind: Pod, metadata: {name: old}}]
steps:
  - title: {en: A, ko: B}
    text: {en: "on one-$RUN", ko: B}
    objects: [{kind: Node, metadata: {name: two-$RUN}}]
    question: {asks: node, text: {en: A, ko: B}, pod: web, answer: one-$RUN, explanation: {en: A, ko: B}}
`;

test("names are the run's own, and as they are written without one", () => {
  const [step] = read("x", FILE, "k3f9x").steps;
  assert.deepEqual(step?.question.answer, ["one-k3f9x"]);
  assert.equal(step?.text.en, "on one-k3f9x");
  assert.equal(read("x", FILE).steps[0]?.text.en, "on one");
});

test("the choices of a question come from the objects of its step", () => {
  const [step] = read("x", FILE).steps;
  assert.ok(step);
  assert.deepEqual(choices(step), ["one", "two", "pending"]);
  step.question.asks = "victims";
  assert.deepEqual(choices(step), ["old"]);
  step.question.asks = "order";
  assert.deepEqual(choices(step), ["one", "two"]);
});

test("a node keeps other pods away and goes with the namespace", () => {
  const node = kept(object("Node", { spec: { taints: [{ key: "own" }] } }), OWNER, false);
  assert.deepEqual(node.spec, { taints: [{ key: "own" }, TAINT] });
  assert.deepEqual(node.metadata.labels, { [MARK]: "lesson-x", "kubernetes.io/hostname": "a" });
  assert.deepEqual(node.metadata.ownerReferences, [{ apiVersion: "v1", kind: "Namespace", ...OWNER }]);
});

test("a pod, also one of a workload, goes to the nodes of its run only", () => {
  const spec = { nodeSelector: { [MARK]: "lesson-x" }, tolerations: [TOLERATION] };
  assert.deepEqual(kept(object("Pod", { spec: {} }), OWNER, true).spec, spec);
  const workload = kept(object("Deployment", { spec: { template: { spec: {} } } }), OWNER, true);
  assert.deepEqual(workload.spec, { template: { spec } });
  assert.equal(workload.metadata.ownerReferences, undefined);
});

test("an object of a lesson is not changed by what is made of it", () => {
  const pod = object("Pod", { spec: { tolerations: [] } });
  kept(pod, OWNER, true);
  assert.deepEqual(pod.spec, { tolerations: [] });
});

test("a change that writes tolerations or taints anew leaves the run's own in", () => {
  const change: Change = { replace: "pod/a", change: { spec: { tolerations: [] } } };
  assert.deepEqual(keptChange(change, OWNER), {
    replace: "pod/a",
    change: { spec: { tolerations: [TOLERATION] } },
    namespace: "lesson-x",
  });
  assert.deepEqual(keptChange({ uncordon: "a" }, OWNER), { uncordon: "a" });
});

test("the order of an answer counts only where it is asked about", () => {
  assert.ok(isSame("victims", ["a", "b"], ["b", "a"]));
  assert.ok(!isSame("order", ["a", "b"], ["b", "a"]));
});

function asks(what: Question["asks"]): Question {
  return { asks: what, node: "b" } as Question;
}

test("answers are read from the decision", () => {
  const told = {
    selected: "a",
    nodes: [
      { node: "b", failedPlugin: "NodeName" },
      { node: "c", total: 1 },
      { node: "a", total: 2 },
    ],
    preemption: { victims: ["lesson-x/old"] },
  } as unknown as Explanation;
  assert.deepEqual(answerOf(asks("node"), told, []), ["a"]);
  assert.deepEqual(answerOf(asks("plugin"), told, []), ["NodeName"]);
  assert.deepEqual(answerOf(asks("order"), told, []), ["a", "c"]);
  assert.deepEqual(answerOf(asks("victims"), told, []), ["old"]);
  const trials = [
    { fix: "x", node: "", why: "" },
    { fix: "y", node: "a", why: "" },
  ];
  assert.deepEqual(answerOf(asks("fix"), told, trials), ["y"]);
});

test("a pod that no scheduler takes up is pending", () => {
  assert.deepEqual(answerOf(asks("node"), undefined, []), ["pending"]);
  assert.deepEqual(answerOf(asks("victims"), undefined, []), []);
});
