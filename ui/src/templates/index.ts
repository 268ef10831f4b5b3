/** Texts to begin with: the files beside this one, named by their kinds, and the shop of `examples/`. */

import { apiVersionOf, type Kind } from "../api/kinds";

const files = import.meta.glob<string>("./*.yaml", { query: "?raw", import: "default", eager: true });
const shop = import.meta.glob<string>("../../../examples/shop/*.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});

export const TEMPLATES: Record<string, string> = {
  ...Object.fromEntries(Object.entries(files).map(([path, text]) => [path.slice("./".length, -".yaml".length), text])),
  shop: Object.entries(shop)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => text.trim())
    .join("\n---\n"),
};

/** What an object of a kind without a template at least says. */
export function skeleton(kind: Kind): string {
  return `apiVersion: ${apiVersionOf(kind)}\nkind: ${kind.kind}\nmetadata:\n  name: example\n`;
}
