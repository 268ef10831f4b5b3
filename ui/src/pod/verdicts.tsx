/** Every node that was looked at: what each filter said of it, or what each score gave it. */

import type { ColDef } from "ag-grid-community";
import { useMemo } from "preact/hooks";
import type { Explanation, NodeVerdict } from "../api/decisions";
import { Grid } from "../parts/grid";
import { Choice } from "../shell/choice";
import { amend, link, place } from "../shell/router";
import { texts } from "../texts";

interface VerdictsProps {
  told: Explanation;
  filter: string;
  /** `filters` or `scores`; the other one when there is nothing of it. */
  shown: string;
  /** The one that is opened up below. */
  node: string;
}

export function Verdicts({ told, filter, shown, node }: VerdictsProps) {
  const t = texts.value.pod;
  const hasScores = told.nodes.some((one) => one.scores && Object.keys(one.scores).length > 0);
  const view = hasScores && shown !== "filters" ? "scores" : "filters";
  const columns = useMemo(
    () => [...nodeColumns(told), ...(view === "scores" ? scores(told) : filters(told))],
    [told, view],
  );
  if (!told.nodes.length) return null;
  return (
    <section aria-labelledby="verdicts">
      <h2 id="verdicts">{t.verdicts(told.nodes.length)}</h2>
      <div class="toolbar">
        {hasScores && (
          <Choice
            label={t.show}
            value={view}
            options={[
              ["filters", t.filters],
              ["scores", t.scores],
            ]}
            onChoose={(chosen) => amend({ show: chosen })}
          />
        )}
        <label class="choice">
          <span>{t.find}</span>
          <input type="search" value={filter} onInput={(event) => amend({ filter: event.currentTarget.value })} />
        </label>
        <span class="muted">{t.openNode}</span>
      </div>
      <div class="sized" style={{ height: heightOf(told.nodes.length) }}>
        <Grid<NodeVerdict>
          label={t.verdicts(told.nodes.length)}
          columns={columns}
          rows={told.nodes}
          rowId={(row) => row.node}
          filter={filter}
          onOpen={(row) => amend({ node: row.node === node ? "" : row.node })}
        />
      </div>
    </section>
  );
}

/** As high as a few rows are, or as many as fit a window. */
function heightOf(rows: number): string {
  return `min(${rows * 2.2 + 5}rem, 70vh)`;
}

const PLUGIN: ColDef<NodeVerdict> = { minWidth: 140, wrapHeaderText: true, autoHeaderHeight: true };

function nodeColumns(told: Explanation): ColDef<NodeVerdict>[] {
  const t = texts.value.pod;
  return [
    {
      colId: "node",
      headerName: t.node,
      field: "node",
      pinned: "left",
      minWidth: 150,
      cellRenderer: ({ value }: { value: string }) => {
        const { path, query } = place.value;
        const anchor = document.createElement("a");
        anchor.href = link(path, { ...Object.fromEntries(query), node: value });
        anchor.textContent = value;
        return anchor;
      },
    },
    {
      colId: "verdict",
      headerName: t.verdict,
      minWidth: 120,
      valueGetter: ({ data }) => (data?.node === told.selected ? t.chosen : t.results(data?.verdict ?? "")),
      cellClass: ({ data }) => (data?.node === told.selected ? "chosen" : data?.verdict === "passed" ? "good" : "bad"),
    },
  ];
}

function filters(told: Explanation): ColDef<NodeVerdict>[] {
  const passed = texts.value.pod.passed;
  return pluginsOf(told.nodes.map((one) => one.plugins)).map((plugin) => ({
    colId: plugin,
    headerName: plugin,
    ...PLUGIN,
    valueGetter: ({ data }) => {
      const said = data?.plugins[plugin];
      return said === "passed" ? passed : (said ?? "");
    },
    cellRenderer: quoted,
    tooltipValueGetter: ({ value }) => value,
    cellClass: ({ value }) => (value === passed ? "good" : value ? "bad" : ""),
  }));
}

/** What a plugin said, in its own words but where it only agreed. */
function quoted({ value }: { value: string }): HTMLElement | string {
  if (!value || value === texts.value.pod.passed) return value;
  const words = document.createElement("span");
  words.lang = "en";
  words.textContent = value;
  return words;
}

function scores(told: Explanation): ColDef<NodeVerdict>[] {
  const t = texts.value.pod;
  const scored = told.nodes.flatMap((one) => (one.scores ? [one.scores] : []));
  const weights = Object.assign({}, ...scored.slice(0, 1));
  return [
    { colId: "total", headerName: t.total, type: "rightAligned", valueGetter: ({ data }) => data?.total, sort: "desc" },
    ...pluginsOf(scored).map((plugin) => ({
      colId: plugin,
      headerName: `${plugin} ×${weights[plugin]?.weight ?? "?"}`,
      headerTooltip: t.weighted,
      type: "rightAligned",
      ...PLUGIN,
      valueGetter: ({ data }: { data?: NodeVerdict | undefined }) => data?.scores?.[plugin]?.final,
      tooltipValueGetter: ({ data }: { data?: NodeVerdict | undefined }) => {
        const score = data?.scores?.[plugin];
        return score && t.scoreOf(score.raw, score.weight, score.final);
      },
    })),
  ];
}

/** All plugins that said something, in the order in which they come first. */
function pluginsOf(rows: Record<string, unknown>[]): string[] {
  return [...new Set(rows.flatMap(Object.keys))];
}
