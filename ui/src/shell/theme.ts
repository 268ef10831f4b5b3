/** Light or dark: as the system has it, unless one is chosen. */

import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "schedlab-theme";

const stored = localStorage.getItem(KEY);
export const theme = signal<Theme>(THEMES.find((one) => one === stored) ?? "system");

const system = matchMedia("(prefers-color-scheme: dark)");
/** Counts up whenever colours change, for what is painted on a canvas. */
export const repaint = signal(0);
system.addEventListener("change", () => {
  repaint.value += 1;
});

effect(() => {
  localStorage.setItem(KEY, theme.value);
  document.documentElement.dataset.theme = theme.value;
  repaint.value = repaint.peek() + 1;
});

/** The value of a colour variable of the style sheet, for canvases. */
export function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
