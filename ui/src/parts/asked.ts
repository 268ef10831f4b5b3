/** An answer of the simulator for a component: asked anew when what it depends on changes, and given up with it. */

import { useEffect, useState } from "preact/hooks";

export interface Asked<T> {
  /** The last answer; it stays while the next one is on its way. */
  value?: T;
  error?: unknown;
  isAsking: boolean;
}

export function useAsked<T>(ask: (signal: AbortSignal) => Promise<T>, dependencies: readonly unknown[]): Asked<T> {
  const [state, setState] = useState<Asked<T>>({ isAsking: true });
  useEffect(() => {
    const giveUp = new AbortController();
    setState(({ value }) => ({ ...(value !== undefined && { value }), isAsking: true }));
    ask(giveUp.signal).then(
      (value) => !giveUp.signal.aborted && setState({ value, isAsking: false }),
      (error) => !giveUp.signal.aborted && setState({ error, isAsking: false }),
    );
    return () => giveUp.abort();
  }, dependencies);
  return state;
}
