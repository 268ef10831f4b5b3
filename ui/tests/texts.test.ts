/** Numbers in sentences: of one thing the words are those of one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { en } from "../src/texts/en.ts";
import { ko } from "../src/texts/ko.ts";
import { kindPlural, plural } from "../src/texts/plural.ts";

/** Everything that a language says when each of its numbers, and all else, is `count`. */
function said(part: unknown, count: number): string[] {
  if (typeof part === "function") return said(part(...Array(part.length).fill(count)), count);
  if (typeof part === "object" && part !== null) return Object.values(part).flatMap((one) => said(one, count));
  return [`${part}`];
}

/** The answer has facts for its parameter, and is no text of numbers. */
const { answer: _, ...pod } = en.pod;
const english = { ...en, pod };
const AS_SEVERAL =
  /\b1 (?:more |other )?(?:are|were|wait|do|differ|fit|(?!is|was|waits|does|has|differs|fits)[a-z]+s)\b/;
const AS_ONE = /\b2 (?:more |other )?(?:waits|does|differs|fits|pod|node|object|step|metric|seed|second)\b/;

test("one of a thing is told as one, two as several", () => {
  assert.deepEqual(
    said(english, 1).filter((words) => AS_SEVERAL.test(words)),
    [],
  );
  assert.deepEqual(
    said(english, 2).filter((words) => AS_ONE.test(words)),
    [],
  );
});

test("numbers have separators, and kinds plurals", () => {
  assert.equal(plural(1, "pod"), "1 pod");
  assert.equal(plural(12_345, "pod"), "12,345 pods");
  assert.deepEqual(["Pod", "PriorityClass", "NetworkPolicy", "Gateway"].map(kindPlural), [
    "Pods",
    "PriorityClasses",
    "NetworkPolicies",
    "Gateways",
  ]);
  assert.equal(ko.list.count(12_345), "객체 12,345개");
});
