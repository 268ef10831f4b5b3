/** Where in a manifest a place is, by indentation. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathAt } from "../src/parts/yaml-path.ts";

/** The text with `|` at the place that is asked about. */
function at(text: string) {
  const position = text.indexOf("|");
  return pathAt(text.replace("|", ""), position);
}

test("a key below others", () => {
  assert.deepEqual(at("kind: Pod\nspec:\n  tol|").path, ["spec"]);
  assert.deepEqual(at("metadata:\n  name: x\nspec:\n  a:\n    b: 1\n  c|").path, ["spec"]);
  assert.deepEqual(at("na|").path, []);
});

test("items of a list, indented or not", () => {
  assert.deepEqual(at("spec:\n  containers:\n    - name: a\n      im|").path, ["spec", "containers"]);
  assert.deepEqual(at("spec:\n  containers:\n  - name: a\n    ports:\n    - con|").path, [
    "spec",
    "containers",
    "ports",
  ]);
  assert.deepEqual(at("spec:\n  containers:\n  - name: a\n    image: b\n  - na|").path, ["spec", "containers"]);
  assert.deepEqual(at("spec:\n  containers:\n  - name: a\n  tol|").path, ["spec"]);
});

test("a value is no key", () => {
  assert.equal(at("spec:\n  restartPolicy: Al|").isKey, false);
  assert.equal(at("spec:\n  restartPol|").isKey, true);
});

test("the document around the place", () => {
  const { document, path } = at("kind: A\nspec:\n  a: 1\n---\nkind: B\nspec:\n  b|\n---\nkind: C\n");
  assert.match(document, /kind: B/);
  assert.doesNotMatch(document, /kind: [AC]/);
  assert.deepEqual(path, ["spec"]);
});
