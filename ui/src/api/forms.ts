/** The forms in which objects are asked for. */

import type { Form, Meta } from "./reflector";

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: Meta & Record<string, unknown>;
  [field: string]: unknown;
}

/** Whole objects. */
export const WHOLE: Form<KubeObject> = {
  accept: "application/json",
  itemsOf: (list) => (list as { items: KubeObject[] | null }).items ?? [],
  itemOf: (object) => object as KubeObject,
  metaOf: (item) => item.metadata,
};

export interface Column {
  name: string;
  type: string;
  description: string;
  /** 0 is shown always, more when there is room. */
  priority: number;
}

export interface Row {
  cells: unknown[];
  object: { metadata: Meta };
}

interface Table {
  columnDefinitions: Column[] | null;
  rows: Row[] | null;
}

/** Rows as the server prints them; `onColumns` hears what the cells are. */
export function table(onColumns: (columns: Column[]) => void): Form<Row> {
  const read = (list: unknown) => {
    const { columnDefinitions, rows } = list as Table;
    if (columnDefinitions) onColumns(columnDefinitions);
    return rows ?? [];
  };
  return {
    accept: "application/json;as=Table;g=meta.k8s.io;v=v1",
    itemsOf: read,
    itemOf: (object) => read(object)[0] as Row,
    metaOf: (row) => row.object.metadata,
  };
}
