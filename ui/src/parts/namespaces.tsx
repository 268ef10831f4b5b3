/** A choice among the namespaces that there are. */

import { useEffect, useState } from "preact/hooks";
import { WHOLE } from "../api/forms";
import { askJson } from "../api/http";
import { Choice } from "../shell/choice";
import { texts } from "../texts";

interface NamespacesProps {
  value: string;
  onChoose(namespace: string): void;
  /** The word for all of them, where that can be chosen. */
  everything?: string;
}

const PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

export function Namespaces({ value, onChoose, everything }: NamespacesProps) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    askJson("/k8s/api/v1/namespaces", { accept: PARTIAL_LIST }).then(
      (list) => setNames(WHOLE.itemsOf(list).map((one) => one.metadata.name)),
      // Whoever shows objects of a namespace tells of a server that does not answer.
      () => undefined,
    );
  }, []);
  const known = names.includes(value) || !value ? names : [...names, value];
  const options = known.map((name) => [name, name] as const);
  return (
    <Choice
      label={texts.value.list.namespace}
      value={value}
      options={everything ? [["", everything], ...options] : options}
      onChoose={onChoose}
    />
  );
}
