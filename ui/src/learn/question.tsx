/** The prediction: made before the scheduler is let decide. */

import { useState } from "preact/hooks";
import { language, texts } from "../texts";
import { choices, PENDING, type Step } from "./lesson";
import { Line, Prose } from "./prose";

interface AskProps {
  step: Step;
  onSaid(said: string[]): void;
}

export function Ask({ step, onSaid }: AskProps) {
  const t = texts.value.learn;
  const { question } = step;
  const all = choices(step);
  const [said, setSaid] = useState<string[]>(question.asks === "order" ? all : []);
  // Saying that nobody is preempted is an answer, too.
  const isSaid = said.length > 0 || question.asks === "victims";
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        onSaid(said);
      }}
    >
      <fieldset>
        <legend>{t.predict}</legend>
        <Prose words={question.text} />
        {question.asks === "order" ? (
          <Ranking order={said} onChange={setSaid} />
        ) : (
          all.map((name) => (
            <label key={name} class="answer-choice">
              <input
                type={question.asks === "victims" ? "checkbox" : "radio"}
                name="said"
                checked={said.includes(name)}
                onChange={({ currentTarget: { checked, type } }) =>
                  setSaid(type === "radio" ? [name] : checked ? [...said, name] : said.filter((one) => one !== name))
                }
              />
              <span>
                <Line text={wordsOf(step, name)} />
              </span>
            </label>
          ))
        )}
        {question.asks === "victims" && <p class="muted">{t.nobodyHint}</p>}
      </fieldset>
      <button type="submit" class="primary" disabled={!isSaid}>
        {t.reveal}
      </button>
    </form>
  );
}

/** What an answer is called. */
export function wordsOf(step: Step, name: string): string {
  const fix = step.question.fixes?.find((one) => one.name === name);
  if (fix) return fix.text[language.value];
  return name === PENDING ? texts.value.learn.pending : `\`${name}\``;
}

function Ranking({ order, onChange }: { order: string[]; onChange(order: string[]): void }) {
  const t = texts.value.learn;
  const swap = (at: number) => onChange(order.toSpliced(at, 2, order[at + 1] as string, order[at] as string));
  return (
    <ol class="ranking">
      {order.map((name, at) => (
        <li key={name}>
          <code>{name}</code>
          <button type="button" aria-label={t.up(name)} disabled={at === 0} onClick={() => swap(at - 1)}>
            ↑
          </button>
          <button type="button" aria-label={t.down(name)} disabled={at === order.length - 1} onClick={() => swap(at)}>
            ↓
          </button>
        </li>
      ))}
    </ol>
  );
}
