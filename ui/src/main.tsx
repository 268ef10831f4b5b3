import { render } from "preact";
import "./style.css";
import { findSession } from "./api/session";
import { App } from "./shell/app";

await findSession();
render(<App />, document.getElementById("app") as HTMLElement);
