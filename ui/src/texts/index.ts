/** The words of the page in the chosen language. A text that one language lacks does not compile. */

import { computed, effect, signal } from "@preact/signals";
import { en } from "./en";
import { ko } from "./ko";

/** What each language has to say. */
export type Texts = typeof en;

const LANGUAGES = { en, ko } satisfies Record<string, Texts>;
export type Language = keyof typeof LANGUAGES;
export const LANGUAGE_NAMES: Record<Language, string> = { en: "English", ko: "한국어" };
const KEY = "schedlab-language";

function first(): Language {
  const wanted = localStorage.getItem(KEY) ?? navigator.language;
  return wanted.startsWith("ko") ? "ko" : "en";
}

export const language = signal<Language>(first());
export const texts = computed<Texts>(() => LANGUAGES[language.value]);

effect(() => {
  localStorage.setItem(KEY, language.value);
  document.documentElement.lang = language.value;
});
