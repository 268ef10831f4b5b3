/** An editor for YAML that marks mistakes and knows the fields of kinds. */

import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import type { Mistake } from "../api/manifests";
import type { Field } from "../api/schemas";
import { texts } from "../texts";
import { styleNonce } from "./nonce";
import { pathAt } from "./yaml-path";

export interface YamlEditorProps {
  /** What is edited, for screen readers. */
  label: string;
  /** The text to begin with; another one replaces what was written. */
  text: string;
  isReadOnly?: boolean;
  onChange?(text: string): void;
  /** Finds mistakes, once typing pauses. */
  check?(text: string): Promise<Mistake[]>;
  /** The fields that may stand below a path of the document around a place of the text. */
  fieldsAt?(document: string, path: string[]): Promise<Field[]>;
}

const CHECK_MS = 500;

const LOOK = EditorView.theme({
  "&": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace', fontSize: "13px" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--muted)", borderColor: "var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent) !important",
  },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--ground)", color: "var(--muted)", borderColor: "var(--line)" },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warning)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: tags.comment, color: "var(--muted)" },
]);

export function YamlEditor({ label, text, isReadOnly = false, onChange, check, fieldsAt }: YamlEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(undefined);
  const calls = useRef({ onChange, check, fieldsAt });
  calls.current = { onChange, check, fieldsAt };

  useEffect(() => {
    const extensions: Extension[] = [
      EditorView.cspNonce.of(styleNonce().styleNonce ?? ""),
      EditorState.phrases.of(texts.value.editor),
      LOOK,
      lineNumbers(),
      foldGutter(),
      yaml(),
      syntaxHighlighting(COLOURS),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      highlightSelectionMatches(),
      keymap.of([...searchKeymap, ...foldKeymap]),
    ];
    if (isReadOnly) extensions.push(EditorState.readOnly.of(true));
    else {
      extensions.push(
        history(),
        bracketMatching(),
        indentOnInput(),
        highlightActiveLine(),
        lintGutter(),
        linter(async (view) => (await calls.current.check?.(view.state.doc.toString())) ?? [], { delay: CHECK_MS }),
        autocompletion({ override: [(context) => complete(context, calls.current.fieldsAt)] }),
        keymap.of([...completionKeymap, ...lintKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) calls.current.onChange?.(update.state.doc.toString());
        }),
      );
    }
    const view = new EditorView({ doc: text, extensions, parent: place.current as HTMLElement });
    editor.current = view;
    return () => view.destroy();
  }, [isReadOnly]);

  useEffect(() => {
    const view = editor.current;
    if (!view || view.state.doc.toString() === text) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }, [text]);

  return <div class="editor" ref={place} />;
}

async function complete(
  context: CompletionContext,
  fieldsAt: YamlEditorProps["fieldsAt"],
): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\w-]*$/);
  if (!fieldsAt || !word || (word.from === word.to && !context.explicit)) return null;
  const { document, path, isKey } = pathAt(context.state.doc.toString(), context.pos);
  if (!isKey) return null;
  const fields = await fieldsAt(document, path).catch(() => []);
  return {
    from: word.from,
    options: fields.map(({ name, type, description }) => ({
      label: name,
      type: "property",
      detail: type,
      info: description,
      apply: `${name}: `,
    })),
    validFor: /^[\w-]*$/,
  };
}
