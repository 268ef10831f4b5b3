/** Says of a part of the link that it means nothing here, and takes it out when asked to. */

import { texts } from "../texts";
import { amend, place } from "./router";

interface StrayProps {
  /** Which part of the query it is. */
  name: string;
  /** What is said of it, and on the button, where that is something of its own. */
  words?: string;
  action?: string;
}

export function Stray({ name, words, action }: StrayProps) {
  const t = texts.value.errors;
  return (
    <div class="stale" role="alert">
      {words ?? t.stray(name, place.value.query.get(name) ?? "")}{" "}
      <button type="button" onClick={() => amend({ [name]: "" })}>
        {action ?? t.leaveOut}
      </button>
    </div>
  );
}
