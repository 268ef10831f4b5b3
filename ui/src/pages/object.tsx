/** One object: what it is now, its events, and a place to change or delete it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type KubeObject, WHOLE } from "../api/forms";
import { PageError } from "../api/http";
import { findKind, type Kind, pathOf } from "../api/kinds";
import { check, dump, parse, refusalOf, remove, replace } from "../api/manifests";
import { timeShown } from "../api/past";
import { Reflector } from "../api/reflector";
import { fieldsAt } from "../api/schemas";
import { PAGES, type PageProps } from "../pages";
import { age } from "../parts/age";
import { Confirm } from "../parts/confirm";
import { Events } from "../parts/events";
import { YamlEditor } from "../parts/yaml-editor";
import { notify, notifyError, Problem } from "../shell/problem";
import { at, go, link } from "../shell/router";
import { texts } from "../texts";

export default function ObjectPage({ parameters }: PageProps) {
  const [id = "", namespace = "-", name = ""] = parameters;
  const [kind, setKind] = useState<Kind>();
  const [error, setError] = useState<unknown>();
  useEffect(() => void findKind(id).then(setKind, setError), [id]);
  const key = [id, namespace, name, at.value].join("/");
  return (
    <>
      <h1>{name}</h1>
      {error !== undefined && <Problem error={error} />}
      {kind && <LiveObject key={key} kind={kind} namespace={namespace === "-" ? "" : namespace} name={name} />}
    </>
  );
}

interface LiveObjectProps {
  kind: Kind;
  namespace: string;
  name: string;
}

/** Follows the object; an editor keeps what it began with until it is done. */
function LiveObject({ kind, namespace, name }: LiveObjectProps) {
  const t = texts.value.object;
  const [object, setObject] = useState<KubeObject>();
  const [isGone, setGone] = useState(false);
  const [error, setError] = useState<unknown>();
  const [edited, setEdited] = useState<KubeObject>();
  const [isAsked, setAsked] = useState(false);
  const [withManagedFields, setWithManagedFields] = useState(false);

  useEffect(() => {
    const reflector = new Reflector<KubeObject>(
      pathOf(kind, namespace),
      { fieldSelector: `metadata.name=${name}` },
      WHOLE,
      {
        changed: (_, items) => {
          const [found] = items.values();
          if (found)
            setObject({
              apiVersion: kind.group ? `${kind.group}/${kind.version}` : kind.version,
              kind: kind.kind,
              ...found,
            });
          setGone(!found);
        },
        failed: setError,
      },
      at.value,
    );
    reflector.start();
    return () => reflector.stop();
  }, []);

  async function deleteIt(isYes: boolean) {
    setAsked(false);
    if (!isYes || !object) return;
    try {
      await remove(kind, object);
      notify(t.deleted(name));
      go(["list", kind.id], { namespace });
    } catch (failure) {
      notifyError(failure);
    }
  }

  if (error !== undefined) return <Problem error={error} />;
  if (!object)
    return isGone ? (
      <Problem error={new PageError(at.value ? t.notThen : t.gone)} />
    ) : (
      <p>{texts.value.shell.loading}</p>
    );
  if (edited) return <Editor kind={kind} object={edited} newest={object} onDone={() => setEdited(undefined)} />;
  return (
    <>
      {isGone && <Problem error={new PageError(t.gone)} />}
      <p class="muted">
        <a href={link(["list", kind.id], { namespace })}>{kind.kind}</a>
        {namespace && <> · {namespace}</>} · {age(object.metadata.creationTimestamp, timeShown())}
        {object.metadata.deletionTimestamp && <> · {t.terminating}</>}
      </p>
      <div class="toolbar">
        {kind.id === "pods" && PAGES.pod && (
          <a class="button" href={link(["pod", namespace, name])}>
            {t.decision}
          </a>
        )}
        {!at.value && (
          <>
            <button type="button" class="primary" disabled={isGone} onClick={() => setEdited(object)}>
              {t.edit}
            </button>
            <button type="button" class="danger" disabled={isGone} onClick={() => setAsked(true)}>
              {t.delete}
            </button>
          </>
        )}
        <label>
          <input
            type="checkbox"
            checked={withManagedFields}
            onChange={(event) => setWithManagedFields(event.currentTarget.checked)}
          />{" "}
          {t.managedFields}
        </label>
      </div>
      <YamlEditor label={name} text={dump(object, withManagedFields)} isReadOnly />
      <h2>{t.events}</h2>
      <Events uid={object.metadata.uid} namespace={namespace} />
      {isAsked && <Confirm question={t.sure(kind.kind, name)} action={t.delete} onAnswer={deleteIt} />}
    </>
  );
}

interface EditorProps {
  kind: Kind;
  /** As it was when editing began. */
  object: KubeObject;
  newest: KubeObject;
  onDone(): void;
}

function Editor({ kind, object, newest, onDone }: EditorProps) {
  const t = texts.value.object;
  const start = useMemo(() => dump(object), [object]);
  const text = useRef(start);
  const [isBusy, setBusy] = useState(false);

  const write = (after: KubeObject, isTrial: boolean) => replace(kind, object, after, isTrial);

  async function apply() {
    const { manifests, mistakes } = parse(text.current);
    const [first] = manifests;
    setBusy(true);
    try {
      if (mistakes[0]) throw new Error(mistakes[0].message);
      if (!first || manifests.length > 1) throw new PageError(t.oneObject);
      await write(first.object, false);
      notify(t.applied(object.metadata.name));
      onDone();
    } catch (failure) {
      notifyError(failure);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      {newest.metadata.resourceVersion !== object.metadata.resourceVersion && <p class="stale">{t.changedMeanwhile}</p>}
      <div class="toolbar">
        <button type="button" class="primary" disabled={isBusy} onClick={apply}>
          {t.apply}
        </button>
        <button type="button" onClick={onDone}>
          {t.cancel}
        </button>
      </div>
      <YamlEditor
        label={object.metadata.name}
        text={start}
        onChange={(value) => {
          text.current = value;
        }}
        check={(value) =>
          check(value, (objects) => Promise.all(objects.map((after) => refusalOf(write(after, true))))).catch(() => [])
        }
        fieldsAt={(_, path) => fieldsAt(kind, path)}
      />
    </>
  );
}
