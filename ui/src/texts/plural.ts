/** English numbers of things: `1 pod`, `2 pods`, `1,000 pods`. Korean counts all alike. */

/** A number with its noun, and whatever else takes another form with it. */
export function plural(count: number, one: string, others = `${one}s`): string {
  return `${count.toLocaleString("en")} ${either(count, one, others)}`;
}

/** The form of words that stand apart from their number. */
export function either(count: number, one: string, others: string): string {
  return count === 1 ? one : others;
}

/** The plural of a kind: `Pods`, `PriorityClasses`, `NetworkPolicies`. */
export function kindPlural(kind: string): string {
  if (/[^aeiou]y$/.test(kind)) return `${kind.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(kind) ? `${kind}es` : `${kind}s`;
}
