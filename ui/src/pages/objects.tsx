/** Every kind that the cluster's API serves; those of everyday come first. */

import { useEffect, useState } from "preact/hooks";
import { type Kind, kinds } from "../api/kinds";
import type { PageProps } from "../pages";
import { Problem } from "../shell/problem";
import { amend, link } from "../shell/router";
import { texts } from "../texts";

const EVERYDAY = [
  "pods",
  "nodes",
  "namespaces",
  "deployments.apps",
  "jobs.batch",
  "persistentvolumeclaims",
  "persistentvolumes",
  "storageclasses.storage.k8s.io",
  "priorityclasses.scheduling.k8s.io",
  "poddisruptionbudgets.policy",
  "events",
];

export default function Objects({ query }: PageProps) {
  const [found, setFound] = useState<Kind[]>();
  const [error, setError] = useState<unknown>();
  useEffect(() => void kinds().then(setFound, setError), []);
  const t = texts.value.objects;
  const words = query.get("find") ?? "";
  const isMeant = (kind: Kind) =>
    `${kind.id} ${kind.kind} ${kind.shortNames}`.toLowerCase().includes(words.toLowerCase());
  const shown = found?.filter(isMeant);
  return (
    <>
      <h1>{texts.value.pages.objects}</h1>
      <p>{t.about}</p>
      {error !== undefined && <Problem error={error} />}
      <div class="toolbar">
        <label class="choice">
          <span>{t.find}</span>
          <input type="search" value={words} onInput={(event) => amend({ find: event.currentTarget.value })} />
        </label>
      </div>
      {!words && (
        <p>
          {EVERYDAY.flatMap((id) => shown?.find((kind) => kind.id === id) ?? []).map((kind) => (
            <a key={kind.id} class="chip" href={link(["list", kind.id])}>
              {kind.kind}
            </a>
          ))}
        </p>
      )}
      <ul class="kinds">
        {shown?.map((kind) => (
          <li key={kind.id}>
            <a href={link(["list", kind.id])}>{kind.kind}</a> <span class="muted">{kind.group || t.core}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
