/** Lessons: each step is predicted first, then done by the live cluster, and explained by its decision. */

import { useEffect, useRef } from "preact/hooks";
import { dump } from "../api/manifests";
import "../learn/learn.css";
import { Board } from "../learn/board";
import type { Lesson, Step } from "../learn/lesson";
import { LESSONS } from "../learn/lessons";
import { type Answered, forgetAnswers, progress } from "../learn/progress";
import { Prose } from "../learn/prose";
import { Ask } from "../learn/question";
import { Reveal } from "../learn/reveal";
import { begin, type Doing, doing, end, open, predict, retry, stepOf } from "../learn/run";
import { Runs } from "../learn/runs";
import type { PageProps } from "../pages";
import "../pod/pod.css";
import { notifyError, Problem } from "../shell/problem";
import { go, link } from "../shell/router";
import { language, texts } from "../texts";

export default function Learn({ parameters }: PageProps) {
  const [id = "", number = "1"] = parameters;
  const lesson = LESSONS.find((one) => one.id === id);
  if (!id) return <Overview />;
  const at = Number(number) - 1;
  if (!lesson?.steps[at]) {
    return (
      <>
        <h1>{texts.value.learn.noLesson}</h1>
        <p>
          <a href={link(["learn"])}>{texts.value.learn.all}</a>
        </p>
      </>
    );
  }
  return <StepPage key={`${id} ${at}`} lesson={lesson} at={at} />;
}

function Overview() {
  const t = texts.value.learn;
  return (
    <>
      <h1>{texts.value.pages.learn}</h1>
      <div class="lesson-text">
        <p>{t.about}</p>
        <p class="muted">{t.keepsToItself}</p>
      </div>
      <Runs />
      <ol class="lessons">
        {LESSONS.map((lesson) => (
          <li key={lesson.id} class="panel">
            <LessonItem lesson={lesson} />
          </li>
        ))}
      </ol>
    </>
  );
}

function answersTo(lesson: Lesson): Record<number, Answered> {
  return progress().answers[lesson.id] ?? {};
}

function LessonItem({ lesson }: { lesson: Lesson }) {
  const t = texts.value.learn;
  const given = answersTo(lesson);
  const answered = lesson.steps.filter((_, at) => given[at]).length;
  const right = lesson.steps.filter((_, at) => given[at]?.isRight).length;
  const next = lesson.steps.findIndex((_, at) => !given[at]);
  return (
    <>
      <h2>{lesson.title[language.value]}</h2>
      <Prose words={lesson.about} />
      <p class="muted">{answered ? t.progress(answered, lesson.steps.length, right) : t.steps(lesson.steps.length)}</p>
      <div class="toolbar">
        <a class="button primary" href={link(["learn", lesson.id, `${Math.max(0, next) + 1}`])}>
          {answered === 0 ? t.start : next < 0 ? t.lookAgain : t.goOn}
          <span class="visually-hidden">: {lesson.title[language.value]}</span>
        </a>
        {answered > 0 && (
          <button type="button" onClick={() => forgetAnswers(lesson.id)}>
            {t.forget}
          </button>
        )}
      </div>
    </>
  );
}

function StepPage({ lesson, at }: { lesson: Lesson; at: number }) {
  const t = texts.value.learn;
  useEffect(() => void open(lesson.id, at), [lesson.id, at]);
  const now = doing.value;
  const isHere = now.lesson === lesson.id && now.step === at;
  const step = ((isHere && stepOf(now)) || lesson.steps[at]) as Step;
  return (
    <>
      <h1>{lesson.title[language.value]}</h1>
      <Steps lesson={lesson} at={at} />
      <h2>{step.title[language.value]}</h2>
      <div class="lesson-text">
        <Prose words={step.text} />
      </div>
      {isHere ? <Live now={now} step={step} before={answersTo(lesson)[at]} /> : <p>{texts.value.shell.loading}</p>}
      <div class="toolbar">
        {at + 1 < lesson.steps.length ? (
          <button
            type="button"
            class={now.phase === "decided" ? "primary" : ""}
            onClick={() => {
              void begin(lesson.id, at + 1);
              go(["learn", lesson.id, `${at + 2}`]);
            }}
          >
            {t.next}
          </button>
        ) : (
          <button type="button" class={now.phase === "decided" ? "primary" : ""} onClick={finish}>
            {t.finish}
          </button>
        )}
        {now.run && (
          <button type="button" onClick={() => void begin(lesson.id, at)}>
            {t.again}
          </button>
        )}
        {now.run && (
          <button type="button" onClick={finish}>
            {t.stop}
          </button>
        )}
        <a href={link(["learn"])}>{t.all}</a>
      </div>
    </>
  );
}

/** Back to all lessons; what the run made goes. */
function finish(): void {
  void end().catch(notifyError);
  go(["learn"]);
}

function Steps({ lesson, at }: { lesson: Lesson; at: number }) {
  const t = texts.value.learn;
  const given = answersTo(lesson);
  return (
    <nav aria-label={t.stepsOf(lesson.title[language.value])}>
      <ol class="attempts">
        {lesson.steps.map((step, index) => (
          <li key={step.title.en}>
            <a
              class="chip"
              href={link(["learn", lesson.id, `${index + 1}`])}
              aria-current={index === at ? "step" : undefined}
            >
              {index + 1}. {step.title[language.value]}
              {given[index] && (
                <span class={given[index].isRight ? "good" : "bad"}>
                  {given[index].isRight ? " ✓" : " ✗"}
                  <span class="visually-hidden">{given[index].isRight ? t.right : t.wrong}</span>
                </span>
              )}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Live({ now, step, before }: { now: Doing; step: Step; before: Answered | undefined }) {
  const t = texts.value.learn;
  const { phase, run, outcome, error } = now;
  const make = () => void begin(now.lesson, now.step);
  const wasAsked = useRef(false);
  if (phase === "ready") wasAsked.current = true;
  return (
    <>
      {phase === "absent" && (
        <div class="panel">
          <p>{before ? t.answeredBefore(before.isRight) : t.willMake(madeOf(step))}</p>
          <button type="button" class="primary" onClick={make}>
            {t.make}
          </button>
        </div>
      )}
      {phase === "gone" && (
        <div class="problem" role="alert">
          <p>{t.gone(run?.name ?? "")}</p>
          <button type="button" onClick={make}>
            {t.make}
          </button>
        </div>
      )}
      {error !== undefined && <Problem error={error} onRetry={() => void retry()} />}
      {run && phase !== "gone" && <Board run={run} withMessages={phase === "ready"} />}
      {error === undefined && (phase === "building" || phase === "deciding") && (
        <p role="status">{phase === "building" ? t.building : step.question.fixes ? t.trying : t.deciding}</p>
      )}
      <div class="sides">
        {run && phase !== "gone" && <Manifests step={step} isBefore={phase === "building" || phase === "ready"} />}
        {phase === "ready" && <Ask step={step} onSaid={(said) => void predict(said)} />}
      </div>
      {phase === "decided" && run && outcome && (
        <Reveal run={run} step={step} outcome={outcome} isNew={wasAsked.current} />
      )}
    </>
  );
}

/** `3 Nodes, 1 Pod`, without the pods that come after the prediction. */
function madeOf(step: Step): string {
  const counts = new Map<string, number>();
  for (const { kind = "" } of step.objects) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => texts.value.learn.kinds(count, kind)).join(", ");
}

interface ManifestsProps {
  step: Step;
  /** Whether the prediction is still to be made. */
  isBefore: boolean;
}

/** What is created for the question, or the pod that is asked about. */
function Manifests({ step, isBefore }: ManifestsProps) {
  const t = texts.value.learn;
  const { create, pod } = step.question;
  const shown = create.length ? create : step.objects.filter((one) => one.kind === "Pod" && one.metadata.name === pod);
  return (
    <details open={isBefore}>
      <summary>{create.length === 0 ? t.isThere : isBefore ? t.toBeMade : t.wasMade}</summary>
      <pre class="words">{shown.map((object) => dump(object)).join("---\n")}</pre>
    </details>
  );
}
