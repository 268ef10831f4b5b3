/** Asks before something is done that cannot be taken back. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { texts } from "../texts";

interface ConfirmProps {
  question: string;
  /** The word on the button that does it. */
  action: string;
  onAnswer(isYes: boolean): void;
}

export function Confirm({ question, action, onAnswer }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={() => onAnswer(false)}>
      <p id="question">{question}</p>
      <div class="toolbar">
        <button type="button" onClick={() => onAnswer(false)}>
          {texts.value.confirm.no}
        </button>
        <button type="button" class="danger" onClick={() => onAnswer(true)}>
          {action}
        </button>
      </div>
    </dialog>
  );
}
