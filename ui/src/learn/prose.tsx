/** The texts of lessons: paragraphs between empty lines, code between backticks; nothing else is marked up. */

import { language } from "../texts";
import type { Words } from "./lesson";

export function Prose({ words }: { words: Words }) {
  const paragraphs = words[language.value].trim().split(/\n\s*\n/);
  return (
    <>
      {paragraphs.map((text) => (
        <p key={text}>
          <Line text={text} />
        </p>
      ))}
    </>
  );
}

export function Line({ text }: { text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>;
}
