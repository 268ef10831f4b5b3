/** Scenarios: one is chosen or written, run beside the cluster, watched, and compared under other configurations. */

import type { PageProps } from "../pages";
import { RunPage } from "../scenarios/run";
import "../pod/pod.css";
import "../scenarios/scenarios.css";
import { Runs } from "../scenarios/runs";
import { Start } from "../scenarios/start";
import { texts } from "../texts";

export default function Scenarios({ parameters, query }: PageProps) {
  const [id] = parameters;
  if (id) return <RunPage key={id} id={id} />;
  return (
    <>
      <h1>{texts.value.pages.scenarios}</h1>
      <Start query={query} />
      <Runs />
    </>
  );
}
