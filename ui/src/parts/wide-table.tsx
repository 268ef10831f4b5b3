/** A table that scrolls by itself, also with the keyboard, where it is wider than the page. */

import type { ComponentChildren } from "preact";

interface Props {
  /** What the table is called by those who hear it; also shown with `captioned`. */
  label: string;
  captioned?: boolean;
  /** The heads of the columns: words, or whole cells. */
  heads?: readonly string[];
  head?: ComponentChildren;
  /** The rows. */
  children: ComponentChildren;
}

export function WideTable({ label, captioned = false, heads, head, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table>
        {captioned && <caption>{label}</caption>}
        {(heads || head) && (
          <thead>
            <tr>
              {heads?.map((words) => (
                <th key={words} scope="col">
                  {words}
                </th>
              ))}
              {head}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
