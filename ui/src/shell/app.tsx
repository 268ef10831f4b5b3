/** The frame of every page: navigation, settings, what is out of date, what went wrong. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { staleSince } from "../api/connection";
import { leave, session, sessionToken } from "../api/session";
import { HOME, PAGES, type Page, type PageProps } from "../pages";
import { LANGUAGE_NAMES, type Language, language, texts } from "../texts";
import { tellMissing, useLate } from "./away";
import { Choice } from "./choice";
import { Login } from "./login";
import { Notices, Problem } from "./problem";
import { amend, at, link, place, strayAt } from "./router";
import { Stray } from "./stray";
import { THEMES, type Theme, theme } from "./theme";

export function App() {
  const isLogin = session.value === "needed" || place.value.path[0] === "login";
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        {texts.value.shell.skip}
      </button>
      <Header withPages={!isLogin} />
      {staleSince.value > 0 && !isLogin && (
        <div class="stale" role="status">
          {texts.value.shell.stale(new Date(staleSince.value).toLocaleTimeString(language.value))}
        </div>
      )}
      {strayAt.value && !isLogin && (
        <Stray name="at" words={texts.value.errors.strayMoment(strayAt.value)} action={texts.value.time.now} />
      )}
      {isTimeOpen() && !isLogin && <LateTimeBar />}
      {isLogin ? <Login /> : <CurrentPage />}
      <Notices />
    </>
  );
}

/** Opened by hand; a moment of the past shows it in any case. */
const timeOpened = signal(false);

function isTimeOpen(): boolean {
  return timeOpened.value || at.value !== 0;
}

function toggleTime(): void {
  timeOpened.value = !isTimeOpen();
  if (!timeOpened.value && at.value) amend({ at: "" });
}

/** The time machine, which is not loaded before somebody asks for it. */
function LateTimeBar() {
  const Bar = useLate(() => import("./time-bar"))?.TimeBar;
  return Bar ? <Bar /> : null;
}

/** A button, since the fragment of a link is the router's. */
function skip(): void {
  document.querySelector<HTMLElement>("#content h1")?.focus();
}

function Header({ withPages }: { withPages: boolean }) {
  const t = texts.value.shell;
  const current = place.value.path[0] ?? HOME;
  return (
    <header class="shell">
      <a class="brand" href={link([])}>
        schedlab
      </a>
      {withPages && (
        <nav aria-label={t.navigation}>
          {Object.entries(PAGES).map(
            ([name, page]) =>
              page.title && (
                <a key={name} href={link([name])} aria-current={currentOf(name, current)}>
                  {page.title(texts.value)}
                </a>
              ),
          )}
        </nav>
      )}
      <div class="settings">
        {withPages && (
          <button type="button" aria-pressed={isTimeOpen()} onClick={toggleTime}>
            {texts.value.time.title}
          </button>
        )}
        <Choice
          isTerse
          label={t.theme}
          value={theme.value}
          options={THEMES.map((one) => [one, t.themes[one]])}
          onChoose={(value) => {
            theme.value = value as Theme;
          }}
        />
        <Choice
          isTerse
          label={t.language}
          value={language.value}
          options={Object.entries(LANGUAGE_NAMES)}
          onChoose={(value) => {
            language.value = value as Language;
          }}
        />
        {withPages && sessionToken() && (
          <button type="button" onClick={() => void leave()}>
            {t.logout}
          </button>
        )}
      </div>
    </header>
  );
}

/** Whether an entry of the navigation is the current page, or the one below which it is found. */
function currentOf(entry: string, current: string): "page" | "true" | undefined {
  if (entry === current) return "page";
  return Object.hasOwn(PAGES, current) && PAGES[current]?.under === entry ? "true" : undefined;
}

/** None when the name is no page's, or when the path ends before it tells what the page is to show. */
function pageOf(name: string, parameters: string[]): Page | undefined {
  const page = Object.hasOwn(PAGES, name) ? PAGES[name] : undefined;
  return page && parameters.length >= (page.needs ?? 0) ? page : undefined;
}

function CurrentPage() {
  const { path, query } = place.value;
  const [name = HOME, ...parameters] = path;
  const page = pageOf(name, parameters);
  const [loaded, setLoaded] = useState<{ name: string; Page: ComponentType<PageProps> }>();
  const [error, setError] = useState<unknown>();
  const main = useRef<HTMLElement>(null);
  const at = path.join("/");

  useEffect(() => {
    const giveUp = new AbortController();
    setError(undefined);
    page?.load().then(
      (module) => setLoaded({ name, Page: module.default }),
      (cause) => tellMissing(cause, giveUp.signal, setError),
    );
    return () => giveUp.abort();
  }, [name, page]);

  // A screen reader hears of a new page by the focus on its heading.
  useEffect(() => {
    const heading = main.current?.querySelector<HTMLElement>("h1");
    if (!heading) return;
    heading.tabIndex = -1;
    if (at !== firstPath) heading.focus();
  }, [loaded, at]);
  useEffect(() => {
    document.title = `${main.current?.querySelector("h1")?.textContent ?? ""} – schedlab`;
  }, [loaded, at, language.value]);

  return (
    <main id="content" ref={main}>
      {!page ? (
        <>
          <h1>{texts.value.shell.notFound}</h1>
          <p>{texts.value.shell.notFoundHint}</p>
        </>
      ) : error ? (
        <Problem error={error} onRetry={() => location.reload()} />
      ) : loaded?.name === name ? (
        <loaded.Page parameters={parameters} query={query} />
      ) : (
        <p>{texts.value.shell.loading}</p>
      )}
    </main>
  );
}

/** Where the page was opened: no focus is moved there. */
const firstPath = place.value.path.join("/");
