/** What lessons have left in the cluster: of this browser, to go on with, and of others. */

import { useState } from "preact/hooks";
import { age } from "../parts/age";
import { Confirm } from "../parts/confirm";
import { notifyError } from "../shell/problem";
import { link } from "../shell/router";
import { language, texts } from "../texts";
import type { Owner } from "./lesson";
import { LESSONS } from "./lessons";
import { useLive } from "./live";
import { progress } from "./progress";
import { clear, LESSON_ID } from "./run";

export function Runs() {
  const t = texts.value.learn;
  const found = useLive("namespaces", "", LESSON_ID)?.filter((one) => !one.metadata.deletionTimestamp);
  const [asked, setAsked] = useState<Owner>();
  if (!found?.length) return null;
  const { runs } = progress();
  return (
    <section class="panel" aria-labelledby="runs">
      <h2 id="runs">{t.runs}</h2>
      <ul class="runs">
        {found.map(({ metadata: { name, uid, labels, creationTimestamp } }) => {
          const id = labels?.[LESSON_ID] ?? "";
          const mine = runs[name]?.uid === uid ? runs[name] : undefined;
          const title = LESSONS.find((one) => one.id === id)?.title[language.value] ?? id;
          return (
            <li key={uid}>
              <code>{name}</code> · {title} · {age(creationTimestamp)} · {mine ? t.mine : t.ofOthers}{" "}
              {mine && <a href={link(["learn", id, `${mine.step + 1}`])}>{t.goOn}</a>}{" "}
              <button
                type="button"
                aria-label={`${t.remove} ${name}`}
                onClick={() => (mine ? void clear(mine).catch(notifyError) : setAsked({ name, uid }))}
              >
                {t.remove}
              </button>
            </li>
          );
        })}
      </ul>
      {asked && (
        <Confirm
          question={t.sureOfOthers(asked.name)}
          action={t.remove}
          onAnswer={(isYes) => {
            setAsked(undefined);
            if (isYes) void clear(asked).catch(notifyError);
          }}
        />
      )}
    </section>
  );
}
