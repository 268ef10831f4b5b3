import { texts } from "../texts";

export default function ClusterMap() {
  return <h1>{texts.value.pages.map}</h1>;
}
