/** Styles of parts come with the first page that needs them and stay: they must leave all else alone. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const SOURCES = new URL("../src/", import.meta.url);

test("styles of parts are about their own classes", () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" });
  const parts = files.filter((file) => file.endsWith(".css") && file !== "style.css");
  assert.ok(parts.length > 2);
  for (const file of parts) {
    const rules = readFileSync(new URL(file, SOURCES), "utf8").replace(/\{[^}]*\}/g, "{}");
    const selectors = rules.split("{}").flatMap((one) => one.split(",").map((part) => part.trim()));
    assert.deepEqual(
      selectors.filter((one) => one && !one.includes(".")),
      [],
      file,
    );
  }
});
