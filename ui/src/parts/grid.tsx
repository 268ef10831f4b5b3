/**
 * A table of many rows: sorted and filtered by its heads, rows drawn as they come into view, reachable by arrow keys.
 *
 * Rows either come as a whole (`rows`), or are fed one by one through the grid's own API (`onReady`).
 */

import {
  CellStyleModule,
  ClientSideRowModelApiModule,
  ClientSideRowModelModule,
  type ColDef,
  ColumnApiModule,
  createGrid,
  type GridApi,
  LocaleModule,
  ModuleRegistry,
  NumberFilterModule,
  PinnedRowModule,
  QuickFilterModule,
  RenderApiModule,
  RowApiModule,
  RowStyleModule,
  ScrollApiModule,
  TextFilterModule,
  TooltipModule,
  themeQuartz,
} from "ag-grid-community";
import { useEffect, useRef } from "preact/hooks";
import { language, texts } from "../texts";
import { styleNonce } from "./nonce";

ModuleRegistry.registerModules([
  CellStyleModule,
  ClientSideRowModelApiModule,
  ClientSideRowModelModule,
  ColumnApiModule,
  LocaleModule,
  NumberFilterModule,
  PinnedRowModule,
  QuickFilterModule,
  RenderApiModule,
  RowApiModule,
  RowStyleModule,
  ScrollApiModule,
  TextFilterModule,
  TooltipModule,
]);

const LOOK = themeQuartz.withParams({
  backgroundColor: "var(--surface)",
  foregroundColor: "var(--text)",
  textColor: "var(--text)",
  headerTextColor: "var(--text)",
  cellTextColor: "var(--text)",
  subtleTextColor: "var(--muted)",
  headerBackgroundColor: "var(--ground)",
  borderColor: "var(--line)",
  accentColor: "var(--accent)",
  browserColorScheme: "inherit",
  fontFamily: "inherit",
  fontSize: 14,
  rowHeight: 32,
  headerHeight: 36,
});

export interface GridProps<T> {
  /** What the table shows, for screen readers. */
  label: string;
  columns: ColDef<T>[];
  rowId(row: T): string;
  rows?: T[];
  onReady?(api: GridApi<T>): void;
  /** Shows only rows that contain all of its words. */
  filter?: string;
  /** The language of its heads and cells, where it is not that of the page. */
  lang?: string;
  /** Enter on a row, or a double click. */
  onOpen?(row: T): void;
}

export function Grid<T>({ label, columns, rowId, rows, onReady, filter = "", lang, onOpen }: GridProps<T>) {
  const place = useRef<HTMLDivElement>(null);
  const grid = useRef<GridApi<T>>(undefined);
  // The grid is made once; what it calls back must be of the latest drawing.
  const open = useRef(onOpen);
  open.current = onOpen;

  useEffect(() => {
    const api = createGrid<T>(place.current as HTMLElement, {
      theme: LOOK,
      // Its style sheets are let in by the nonce of the page.
      ...styleNonce(),
      columnDefs: columns,
      rowData: rows ?? [],
      getRowId: ({ data }) => rowId(data),
      defaultColDef: { resizable: true, sortable: true, filter: true, minWidth: 90, flex: 1 },
      enableCellTextSelection: true,
      ensureDomOrder: true,
      localeText: texts.value.grid,
      // Pages tell how many rows there are; a hidden overlay would still be read.
      suppressNoRowsOverlay: true,
      suppressCellFocus: false,
      onRowDoubleClicked: ({ data }) => data && open.current?.(data),
      onCellKeyDown: ({ event, data }) => {
        if ((event as KeyboardEvent).key === "Enter" && data) open.current?.(data);
      },
    });
    grid.current = api;
    place.current?.querySelector('[role="grid"], [role="treegrid"]')?.setAttribute("aria-label", label);
    onReady?.(api);
    return () => api.destroy();
  }, [language.value]);

  useEffect(() => grid.current?.setGridOption("columnDefs", columns), [columns]);
  useEffect(() => {
    if (rows) grid.current?.setGridOption("rowData", rows);
  }, [rows]);
  useEffect(() => grid.current?.setGridOption("quickFilterText", filter), [filter]);

  return <div class="grid" lang={lang} ref={place} />;
}
