/** The cluster map in words: a row for each node, for keyboards and screen readers, and for whoever wants numbers. */

import type { ColDef } from "ag-grid-community";
import { useMemo } from "preact/hooks";
import { type Grouping, groupOf } from "../map/layout";
import { type MapModel, words } from "../map/model";
import { placeOf } from "../shell/router";
import { texts } from "../texts";
import { Grid } from "./grid";

export interface NodeTableProps {
  model: MapModel;
  version: number;
  grouping: Grouping;
  resources: string[];
}

interface NodeRow {
  name: string;
  group: string;
  state: string;
  pods: number;
  used: Record<string, number>;
  allocatable: Record<string, number>;
}

export function NodeTable({ model, version, grouping, resources }: NodeTableProps) {
  const t = texts.value.map;
  const rows = useMemo(
    () =>
      [...model.nodes].map(
        ([name, node]): NodeRow => ({
          name,
          group: groupOf(node, grouping),
          state: [node.ready ? t.ready : t.notReady, node.unschedulable && t.cordoned].filter(Boolean).join(", "),
          pods: model.podsOf(name).length,
          used: Object.fromEntries(resources.map((resource) => [resource, model.used(name, resource)])),
          allocatable: node.allocatable,
        }),
      ),
    [model, version, grouping.by, grouping.without, t],
  );
  const key = resources.join(" ");
  const columns = useMemo(
    (): ColDef<NodeRow>[] => [
      { field: "name", headerName: t.node, cellRenderer: linkTo },
      { field: "group", headerName: t.group },
      { field: "state", headerName: t.state },
      ...resources.map(
        (resource): ColDef<NodeRow> => ({
          headerName: resource,
          colId: resource,
          filter: "agNumberColumnFilter",
          valueGetter: ({ data }) => share(data as NodeRow, resource),
          valueFormatter: ({ data }) =>
            `${words(data?.used[resource] ?? 0, resource)} / ${words(data?.allocatable[resource] ?? 0, resource)}`,
        }),
      ),
    ],
    [key, t],
  );
  return (
    <Grid<NodeRow>
      label={texts.value.pages.map}
      columns={columns}
      rows={rows}
      rowId={(row) => row.name}
      onOpen={({ name }) => {
        location.hash = placeOf("nodes", { name });
      }}
    />
  );
}

/** Rows are sorted by how full a node is, not by the amount. */
function share(row: NodeRow, resource: string): number {
  return row.allocatable[resource] ? (row.used[resource] ?? 0) / row.allocatable[resource] : 0;
}

function linkTo({ value }: { value: string }): HTMLElement {
  const anchor = document.createElement("a");
  anchor.href = placeOf("nodes", { name: value });
  anchor.textContent = value;
  return anchor;
}
