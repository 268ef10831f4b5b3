/** What would help: searched when asked for; each suggestion can be tried on a fork, and made. */

import { useEffect, useRef, useState } from "preact/hooks";
import { make, type Outcome, tryOnFork } from "../api/changes";
import { type Help, type Suggestion, whatWouldHelp } from "../api/decisions";
import { Confirm } from "../parts/confirm";
import { notify, notifyError, Problem } from "../shell/problem";
import { texts } from "../texts";

interface HelpProps {
  namespace: string;
  name: string;
  attempt: string;
}

export function HelpFor({ namespace, name, attempt }: HelpProps) {
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
      {help && (help.suggestions.length === 0 || help.fits) && <p>{help.fits ? help.message : t.nothing}</p>}
      {help && (
        <ol class="suggestions">
          {help.suggestions.map((one) => (
            <SuggestionItem key={one.summary} suggestion={one} isPast={attempt !== ""} />
          ))}
        </ol>
      )}
    </section>
  );
}

/** `isPast`: it is about a moment that is over, so it cannot be tried. */
export function SuggestionItem({ suggestion, isPast }: { suggestion: Suggestion; isPast: boolean }) {
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
  const tryIt = () => attempt(async () => setOutcome(await tryOnFork(suggestion.changes)));
  const makeIt = () =>
    attempt(async () => {
      await make(suggestion.changes);
      notify(t.made);
    });

  return (
    <li>
      <p>
        <strong>{suggestion.summary}</strong> → {suggestion.node}{" "}
        <span class="muted">
          {suggestion.kind} · {t.cost(suggestion.cost)}
        </span>
      </p>
      {!isPast && (
        <div class="toolbar">
          <button type="button" disabled={isBusy} onClick={tryIt}>
            {isBusy ? t.trying : t.try}
          </button>
          <button type="button" disabled={isBusy} onClick={() => setAsked(true)}>
            {t.make}
          </button>
        </div>
      )}
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

function Moves({ outcome }: { outcome: Outcome }) {
  const t = texts.value.help;
  return (
    <div class="outcome" role="status">
      <p>{outcome.moves.length ? t.outcome(outcome.ranForSeconds) : t.noMoves}</p>
      <ul>
        {outcome.moves.map((move) => (
          <li key={move.pod}>
            <strong>{move.pod}</strong>: {spot(move.before)} → {spot(move.after)} <span class="muted">{move.why}</span>
          </li>
        ))}
        {outcome.problems.map((problem) => (
          <li key={problem} class="bad">
            {problem}
          </li>
        ))}
      </ul>
    </div>
  );
}

function spot(node: string | null): string {
  const t = texts.value.help;
  return node === null ? t.gone : node || t.waits;
}
