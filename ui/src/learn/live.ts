/** Objects as they are now, for a component. */

import { useEffect, useState } from "preact/hooks";
import { type KubeObject, WHOLE } from "../api/forms";
import { findKind, pathOf } from "../api/kinds";
import { Reflector } from "../api/reflector";
import { notifyError } from "../shell/problem";

/** In the order of their names; undefined until they are known. */
export function useLive(kindId: string, namespace: string, labelSelector: string): KubeObject[] | undefined {
  const [items, setItems] = useState<KubeObject[]>();
  useEffect(() => {
    let reflector: Reflector<KubeObject> | undefined;
    let isOver = false;
    findKind(kindId).then((kind) => {
      if (isOver) return;
      const query: Record<string, string> = labelSelector ? { labelSelector } : {};
      const changed = (_: unknown, all: ReadonlyMap<string, KubeObject>) => setItems(sorted(all));
      reflector = new Reflector(pathOf(kind, namespace), query, WHOLE, { changed, failed: notifyError });
      reflector.start();
    }, notifyError);
    return () => {
      isOver = true;
      reflector?.stop();
    };
  }, [kindId, namespace, labelSelector]);
  return items;
}

function sorted(all: ReadonlyMap<string, KubeObject>): KubeObject[] {
  return [...all.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
