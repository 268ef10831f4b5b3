/** Every kind that the cluster's API serves. */

import { useEffect, useState } from "preact/hooks";
import { type Kind, kinds } from "../api/kinds";
import { Problem } from "../shell/problem";
import { link } from "../shell/router";
import { texts } from "../texts";

export default function Objects() {
  const [found, setFound] = useState<Kind[]>();
  const [error, setError] = useState<unknown>();
  useEffect(() => void kinds().then(setFound, setError), []);
  return (
    <>
      <h1>{texts.value.pages.objects}</h1>
      {error !== undefined && <Problem error={error} />}
      <ul class="kinds">
        {found?.map((kind) => (
          <li key={kind.id}>
            <a href={link(["list", kind.id])}>{kind.kind}</a> <span class="muted">{kind.group || "core"}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
