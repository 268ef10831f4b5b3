/** Where in a manifest a place of its text is: read from the indentation, as the text is not whole while it is written. */

export interface Where {
  /** The document of the text around the place. */
  document: string;
  /** The keys above the place, from the top: `["spec", "containers"]`; list items have none of their own. */
  path: string[];
  /** Whether a key is written there, and not a value. */
  isKey: boolean;
}

const KEY = /^(\s*(?:- +)*)([\w./-]+)\s*:/;

export function pathAt(text: string, position: number): Where {
  const start = text.lastIndexOf("\n---", position - 1);
  const end = text.indexOf("\n---", position);
  const document = text.slice(start < 0 ? 0 : start + 4, end < 0 ? text.length : end);
  const lines = text.slice(start < 0 ? 0 : start + 4, position).split("\n");
  const current = lines.pop() ?? "";
  const lead = /^\s*(?:- +)*/.exec(current)?.[0] ?? "";
  const path: string[] = [];
  // A key is above the place when it stands left of this column.
  let limit = columnOf(lead);
  for (const line of lines.reverse()) {
    const [, before = "", key = ""] = KEY.exec(line) ?? [];
    if (!key) continue;
    if (before.length < limit) {
      path.unshift(key);
      limit = columnOf(before);
    } else if (before.length === limit && before.includes("-")) limit = columnOf(before);
  }
  return { document, path, isKey: !current.slice(lead.length).includes(":") };
}

/** Left of which column the keys above a line stand: those above a list item may stand as far left as its dash. */
function columnOf(lead: string): number {
  const dash = lead.lastIndexOf("-");
  return dash < 0 ? lead.length : dash + 1;
}
