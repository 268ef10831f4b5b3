/** What would help: searched when asked for; each suggestion can be tried on a fork, and made. */

import { useEffect, useRef, useState } from "preact/hooks";
import { make, type Outcome, tryOnFork } from "../api/changes";
import { type Help, type Suggestion, whatWouldHelp } from "../api/decisions";
import { Confirm } from "../parts/confirm";
import { Moves } from "../parts/moves";
import { notify, notifyError, Problem } from "../shell/problem";
import { texts } from "../texts";

interface HelpProps {
  namespace: string;
  name: string;
  /** One of the past, or empty, and the revision that it began at. */
  attempt: string;
  at: number;
}

export function HelpFor({ namespace, name, attempt, at }: HelpProps) {
  const t = texts.value.help;
  const [help, setHelp] = useState<Help>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const giveUp = useRef(new AbortController());
  useEffect(() => () => giveUp.current.abort(), []);

  async function search() {
    setBusy(true);
    setError(undefined);
    try {
      setHelp(await whatWouldHelp(namespace, name, attempt, giveUp.current.signal));
    } catch (failure) {
      if (!giveUp.current.signal.aborted) setError(failure);
    } finally {
      setBusy(false);
    }
  }

  return (
    <section aria-labelledby="help" aria-busy={isBusy}>
      <h2 id="help">{t.title}</h2>
      <button type="button" class="primary" disabled={isBusy} onClick={search}>
        {isBusy ? t.searching : t.search}
      </button>
      {error !== undefined && <Problem error={error} />}
      {help?.fits && <p lang="en">{help.message}</p>}
      {help && !help.fits && help.suggestions.length === 0 && <p>{t.nothing}</p>}
      {help && help.suggestions.length > 0 && <p class="muted">{t.costs}</p>}
      {help && (
        <ol class="suggestions">
          {help.suggestions.map((one) => (
            <SuggestionItem key={one.summary} suggestion={one} at={at} />
          ))}
        </ol>
      )}
    </section>
  );
}

/** `at`: the revision of the past that it is about, where it can be tried but not made; 0 is now. */
export function SuggestionItem({ suggestion, at }: { suggestion: Suggestion; at: number }) {
  const t = texts.value.help;
  const [outcome, setOutcome] = useState<Outcome>();
  const [isBusy, setBusy] = useState(false);
  const [isAsked, setAsked] = useState(false);

  async function attempt(action: () => Promise<void>) {
    setBusy(true);
    try {
      await action();
    } catch (error) {
      notifyError(error);
    } finally {
      setBusy(false);
    }
  }
  const tryIt = () => attempt(async () => setOutcome(await tryOnFork(suggestion.changes, at)));
  const makeIt = () =>
    attempt(async () => {
      await make(suggestion.changes);
      notify(t.made);
    });

  return (
    <li>
      <p>
        <strong lang="en">{suggestion.summary}</strong> → {suggestion.node}{" "}
        <span class="muted">
          {t.kinds[suggestion.kind] ?? suggestion.kind} · {t.cost(suggestion.cost)}
        </span>
      </p>
      <div class="toolbar">
        <button type="button" disabled={isBusy} onClick={tryIt}>
          {isBusy ? t.trying : at ? t.tryThen : t.try}
        </button>
        {!at && (
          <button type="button" disabled={isBusy} onClick={() => setAsked(true)}>
            {t.make}
          </button>
        )}
      </div>
      {outcome && <Moves outcome={outcome} />}
      <details>
        <summary>{t.commands}</summary>
        <pre>{suggestion.commands.join("\n")}</pre>
      </details>
      {isAsked && (
        <Confirm
          question={t.sure(suggestion.summary)}
          action={t.make}
          onAnswer={(isYes) => {
            setAsked(false);
            if (isYes) void makeIt();
          }}
        />
      )}
    </li>
  );
}
