/** All objects of a kind, as the server prints them, kept up to date. */

import type { ColDef, GridApi } from "ag-grid-community";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Column, type Row, table } from "../api/forms";
import { findKind, type Kind, pathOf } from "../api/kinds";
import { timeShown } from "../api/past";
import { type Changes, Reflector } from "../api/reflector";
import type { PageProps } from "../pages";
import { age } from "../parts/age";
import { Grid } from "../parts/grid";
import { Namespaces } from "../parts/namespaces";
import { Problem } from "../shell/problem";
import { amend, at, link, placeOf } from "../shell/router";
import { language, texts } from "../texts";

export default function List({ parameters, query }: PageProps) {
  const [id = "pods"] = parameters;
  const [kind, setKind] = useState<Kind>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    setKind(undefined);
    setError(undefined);
    findKind(id).then(setKind, setError);
  }, [id]);
  if (error) return <Titled name={id} problem={error} />;
  if (!kind) return <Titled name={id} />;
  const namespace = query.get("namespace") ?? "";
  const selector = query.get("selector") ?? "";
  return (
    <Objects
      key={`${kind.id} ${namespace} ${selector} ${at.value} ${language.value}`}
      kind={kind}
      namespace={namespace}
      selector={selector}
      filter={query.get("filter") ?? ""}
      isWide={query.get("wide") === "true"}
    />
  );
}

function Titled({ name, problem }: { name: string; problem?: unknown }) {
  return (
    <>
      <h1>{name}</h1>
      {problem === undefined ? <p>{texts.value.shell.loading}</p> : <Problem error={problem} />}
    </>
  );
}

interface ObjectsProps {
  kind: Kind;
  namespace: string;
  selector: string;
  filter: string;
  isWide: boolean;
}

const AGE_MS = 5000;

function Objects({ kind, namespace, selector, filter, isWide }: ObjectsProps) {
  const t = texts.value.list;
  const [columns, setColumns] = useState<Column[]>([]);
  const [count, setCount] = useState<number>();
  const [error, setError] = useState<unknown>();
  const grid = useRef<GridApi<Row>>(undefined);

  useEffect(() => {
    const reflector = new Reflector<Row>(
      pathOf(kind, namespace),
      { ...(selector && { labelSelector: selector }), includeObject: "Metadata" },
      table((found) => setColumns((now) => (now.length ? now : found))),
      {
        changed: (changes, items) => {
          feed(grid.current as GridApi<Row>, changes, items);
          setCount(items.size);
        },
        failed: setError,
      },
      at.value,
    );
    reflector.start();
    const timer = window.setInterval(() => grid.current?.refreshCells({ columns: ["Age"] }), AGE_MS);
    return () => {
      reflector.stop();
      window.clearInterval(timer);
    };
  }, []);

  const definitions = useMemo(() => definitionsOf(kind, columns, isWide, !namespace), [columns, isWide]);
  const isSplit = columns.some((column) => column.priority > 0);
  return (
    <>
      <h1>{kind.kind}</h1>
      <div class="toolbar">
        {kind.namespaced && (
          <Namespaces value={namespace} onChoose={(chosen) => amend({ namespace: chosen })} everything={t.everywhere} />
        )}
        <Words label={t.filter} value={filter} onChange={(value) => amend({ filter: value })} />
        <Words label={t.selector} value={selector} onCommit={(value) => amend({ selector: value })} />
        {isSplit && (
          <label>
            <input
              type="checkbox"
              checked={isWide}
              onChange={(event) => amend({ wide: event.currentTarget.checked ? "true" : "" })}
            />{" "}
            {t.wide}
          </label>
        )}
        {kind.verbs.includes("create") && !at.value && (
          <a href={link(["create", kind.id], { namespace })}>{t.create}</a>
        )}
        {count !== undefined && <span class="muted">{t.count(count)}</span>}
      </div>
      {error !== undefined && <Problem error={error} />}
      <Grid<Row>
        label={kind.kind}
        lang="en"
        columns={definitions}
        rowId={(row) => row.object.metadata.uid}
        filter={filter}
        onReady={(api) => {
          grid.current = api;
        }}
        onOpen={(row) => {
          location.hash = placeOf(kind.id, row.object.metadata);
        }}
      />
    </>
  );
}

/** Hand a batch of changes to the grid. */
function feed(grid: GridApi<Row>, changes: Changes<Row>, items: ReadonlyMap<string, Row>): void {
  if (changes.all) {
    grid.setGridOption("rowData", [...items.values()]);
    return;
  }
  const add: Row[] = [];
  const update: Row[] = [];
  for (const [uid, row] of changes.upserted) (grid.getRowNode(uid) ? update : add).push(row);
  const remove = [...changes.removed].flatMap((uid) => grid.getRowNode(uid)?.data ?? []);
  grid.applyTransaction({ add, update, remove });
}

const collator = new Intl.Collator("en", { numeric: true });

function definitionsOf(kind: Kind, columns: Column[], isWide: boolean, withNamespace: boolean): ColDef<Row>[] {
  const shown: ColDef<Row>[] = columns.flatMap((column, index) => {
    if (column.priority > 0 && !isWide) return [];
    const definition: ColDef<Row> = {
      headerName: column.name,
      headerTooltip: column.description,
      colId: column.name,
      valueGetter: ({ data }) => data?.cells[index] ?? "",
      comparator: (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(`${a}`, `${b}`)),
    };
    if (column.name === "Name") return [named(kind, definition)];
    if (column.name === "Age") return [aged(definition)];
    return [definition];
  });
  if (kind.namespaced && withNamespace && shown.length) {
    const namespace = texts.value.list.namespace;
    shown.unshift({ headerName: namespace, valueGetter: ({ data }) => data?.object.metadata.namespace ?? "" });
  }
  return shown;
}

/** The name leads to the object. It is set as text, whatever it contains. */
function named(kind: Kind, definition: ColDef<Row>): ColDef<Row> {
  return {
    ...definition,
    minWidth: 160,
    cellRenderer: ({ data, value }: { data: Row; value: string }) => {
      const anchor = document.createElement("a");
      anchor.href = placeOf(kind.id, data.object.metadata);
      anchor.textContent = value;
      return anchor;
    },
  };
}

/** Ages go on; the server's words are those of the moment it was asked. */
function aged(definition: ColDef<Row>): ColDef<Row> {
  return {
    ...definition,
    filter: false,
    valueGetter: ({ data }) => data?.object.metadata.creationTimestamp ?? "",
    valueFormatter: ({ value }) => age(value, timeShown()),
    comparator: (a, b) => (a < b ? 1 : a > b ? -1 : 0),
  };
}

interface WordsProps {
  label: string;
  value: string;
  /** Called while typing. */
  onChange?(value: string): void;
  /** Called when typing is over. */
  onCommit?(value: string): void;
}

function Words({ label, value, onChange, onCommit }: WordsProps) {
  return (
    <label class="choice">
      <span>{label}</span>
      <input
        type="search"
        value={value}
        onInput={(event) => onChange?.(event.currentTarget.value)}
        onChange={(event) => onCommit?.(event.currentTarget.value)}
      />
    </label>
  );
}
