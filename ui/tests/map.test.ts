/** What the map counts, and where it puts nodes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { groups, layout } from "../src/map/layout.ts";
import { MapModel, type MapNode, type MapPod, type SentLine, whole, words } from "../src/map/model.ts";

function node(more: Partial<MapNode> = {}): MapNode {
  return { labels: {}, taints: [], unschedulable: false, ready: true, allocatable: { cpu: 1000, pods: 10 }, ...more };
}

function pod(more: Partial<MapPod> = {}): MapPod {
  return { node: "a", workload: "w", phase: "Running", priority: 0, requests: { cpu: 250 }, ...more };
}

function told(nodes: Record<string, MapNode | null>, pods: Record<string, MapPod | null> = {}) {
  return { nodes, pods, complete: false };
}

test("pods count where they are, once", () => {
  const model = new MapModel();
  model.apply(told({ a: node(), b: node() }, { "n/p": pod(), "n/q": pod(), "n/w": pod({ node: "" }) }));
  assert.equal(model.share("a", "cpu"), 0.5);
  assert.equal(model.share("a", "pods"), 0.2);
  assert.equal(model.podsOf("").length, 1);
  model.settled();

  model.apply(told({}, { "n/p": pod({ node: "b" }), "n/q": null, "n/w": pod({ node: "b" }) }));
  assert.deepEqual([model.used("a", "cpu"), model.used("b", "cpu")], [0, 500]);
  assert.deepEqual([...model.dirty].sort(), ["", "a", "b"]);
  assert.equal(model.isRearranged, false);
});

test("pods that have ended hold nothing", () => {
  const model = new MapModel();
  model.apply(told({ a: node() }, { "n/p": pod({ phase: "Succeeded" }), "n/q": pod({ phase: "Failed" }) }));
  assert.equal(model.used("a", "cpu"), 0);
});

test("a node that comes, goes or is labelled anew moves others", () => {
  const model = new MapModel();
  model.apply(told({ a: node() }));
  for (const change of [{ b: node() }, { a: node({ labels: { zone: "z" } }) }, { b: null }]) {
    model.settled();
    model.apply(told(change));
    assert.equal(model.isRearranged, true);
  }
  model.settled();
  model.apply(told({ a: node({ labels: { zone: "z" }, ready: false }) }));
  assert.equal(model.isRearranged, false);
});

test("labels that group: not those that every node has for itself", () => {
  const model = new MapModel();
  const labelled = (host: string) => node({ labels: { host, zone: host < "c" ? "x" : "y" } });
  model.apply(told({ a: labelled("a"), b: labelled("b"), c: labelled("c"), d: labelled("d") }));
  assert.deepEqual(model.labels(), ["zone"]);
});

for (const count of [3, 100, 5000]) {
  test(`${count} nodes fit, none upon another`, () => {
    const nodes = new Map<string, MapNode>();
    for (let i = 0; i < count; i++) nodes.set(`node-${i}`, node({ labels: { zone: `z${i % 3}` } }));
    const found = layout(groups(nodes, { by: "label:zone", without: "no zone" }), 1200, 600);
    const places = found.boxes.flatMap((box) => box.tiles);
    assert.equal(places.length, count);
    assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, count);
    assert.ok(found.height <= 600);
    assert.ok(places.every(({ x }) => x + found.side <= 1200));
    assert.ok(found.side >= (count === 5000 ? 10 : count === 100 ? 70 : 150), `tiles of ${found.side}`);
  });
}

test("groups and nodes are in the order of their numbers", () => {
  const nodes = new Map([10, 9, 1].map((i) => [`n${i}`, node({ taints: [`t${i}`] })] as const));
  assert.deepEqual([...groups(nodes, { by: "taints", without: "" }).keys()], ["t1", "t9", "t10"]);
  assert.deepEqual([...groups(nodes, { by: "", without: "" }).values()], [["n1", "n9", "n10"]]);
});

test("nodes without what others are grouped by come last, under a name", () => {
  const labels = [{}, { "example.com/tier": "z" }, { "example.com/tier": "" }];
  const nodes = new Map(labels.map((one, i) => [`n${i}`, node({ labels: one })] as const));
  const found = groups(nodes, { by: "label:example.com/tier", without: "no tier" });
  assert.deepEqual([...found.keys()], ["example.com/tier=", "z", "no tier"]);
});

test("amounts in words", () => {
  assert.equal(words(1500, "cpu"), "1.5");
  assert.equal(words(16 * 1024 ** 3, "memory"), "16Gi");
  assert.equal(words(3, "example.com/gpu"), "3");
});

test("a model is of a revision only when all of it has been told", () => {
  const model = new MapModel();
  model.apply(told({ a: node() }));
  assert.equal(model.revision, 0);
  model.apply({ ...told({}), complete: true, revision: 7 });
  assert.equal(model.revision, 7);
  model.apply(told({ a: null }));
  assert.equal(model.revision, 0);
});

test("pods of a line have the look that they share", () => {
  const { node: _, ...look } = pod();
  const sent: SentLine = {
    nodes: {},
    pods: { "n/p": ["a", 0], "n/q": ["", 0], "n/r": null },
    looks: [look],
    complete: true,
  };
  const line = whole(sent);

  assert.deepEqual(line.pods, { "n/p": pod(), "n/q": pod({ node: "" }), "n/r": null });
  assert.equal(line.complete, true);
});
