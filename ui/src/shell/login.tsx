/** What is shown to whoever is not let in: how to get in. */

import { useEffect, useState } from "preact/hooks";
import { begin } from "../api/session";
import { texts } from "../texts";
import { place } from "./router";

/** Open a session with the link of `#/login/LINK`, if there is one; it leaves no trace in the history. */
export function Login() {
  const t = texts.value.login;
  const [head, link] = place.value.path;
  const [state, setState] = useState<"idle" | "checking" | "refused">("idle");
  useEffect(() => {
    if (head !== "login" || !link) return;
    setState("checking");
    begin(link).then(
      (refused) => {
        history.replaceState(null, "", "#/");
        window.dispatchEvent(new HashChangeEvent("hashchange"));
        setState(refused ? "refused" : "idle");
      },
      () => setState("refused"),
    );
  }, [head, link]);
  return (
    <main id="content" class="login">
      <h1>{t.title}</h1>
      {state === "checking" && <p>{t.checking}</p>}
      {state === "refused" && (
        <p class="problem" role="alert">
          {t.refused}
        </p>
      )}
      <p>{t.why}</p>
      <p>{t.how}</p>
      <pre>
        <code>schedlab ui</code>
      </pre>
    </main>
  );
}
