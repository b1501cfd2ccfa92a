import { Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { Row } from '@botpress/client';
import { useQueries } from '@tanstack/react-query';
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type MouseEvent, useCallback, useId, useRef, useState } from 'react';
import { Failure } from '../parts/failure';
import { CellEditor, type CellExit, focusField } from './cell-editor';
import type { ShownColumn } from './columns';
import classes from './grid.module.css';
import { GridHeader } from './grid-header';
import { GridRow } from './grid-row';
import { pageRows, type RowsInput, rowsQuery, type TableScope } from './queries';

interface Props {
  scope: TableScope;
  label: string;
  columns: ShownColumn[];
  input: RowsInput;
  /** Rows that match. */
  total: number;
  canWrite: boolean;
  onOrder: (column: string | undefined, direction: 'asc' | 'desc' | undefined) => void;
  onOpen: (row: Row, column: string) => void;
}

interface Position {
  row: number;
  column: number;
}

interface Edited extends Position {
  /** Row as it was when its editor was opened: it may be scrolled away meanwhile. */
  of: Row;
}

const rowPx = 36;
const overscan = 5;
/** Pages that the reader scrolls past in less time are not requested. */
const settleMs = 80;
/** Browsers limit the height of an element: Firefox to 17 million pixels. */
export const maxRows = 450_000;
const keysOfWriter = 'Enter or a double click edits a cell. Space, or a double click on its id, opens the row.';
const keysOfReader = 'Enter or a double click opens a row.';
const widthsPx = { id: 90, date: 220, other: 180 };

/**
 * Grid that requests and renders the visible rows only. The arrow keys move the active cell. Enter, F2 or a second click
 * edits it; Space opens its row, as does Enter where nothing can be edited.
 */
export function Grid({ scope, label, columns, input, total, canWrite, onOrder, onOpen }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const id = useId();
  const [active, setActive] = useState<Position>({ row: 0, column: 0 });
  const [edited, setEdited] = useState<Edited>();
  const count = Math.min(total, maxRows);
  const editedRow = edited?.row;
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowPx,
    overscan,
    // The row that is edited stays in the page when it is scrolled away.
    rangeExtractor: useCallback((range: Range) => rowsOf(range, editedRow), [editedRow]),
    // Renders when the browser is about to paint instead of in each scroll event.
    useFlushSync: false,
    // The header covers the first row of the viewport.
    scrollPaddingStart: rowPx,
  });
  const items = virtualizer.getVirtualItems();
  const firstIndex = Math.max(0, (virtualizer.range?.startIndex ?? 0) - overscan);
  const { rowAt, error, retry } = useRows(scope, input, firstIndex, count);

  const open = ({ row: index, column }: Position) => {
    const row = rowAt(index);
    if (row) onOpen(row, columns[column]!.name);
  };
  const edit = (position: Position) => {
    const row = rowAt(position.row);
    // An editor that is still open has a value that was refused.
    if (edited) focusField(scroll.current);
    else if (!canWrite || columns[position.column]!.isReadOnly) open(position);
    else if (row) setEdited({ ...position, of: row });
  };
  const move = (next: Position) => {
    setActive(next);
    virtualizer.scrollToIndex(next.row);
    const cell = scroll.current?.querySelectorAll('[role=columnheader]')[next.column];
    cell?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  const endEdit = (exit: CellExit) => {
    setEdited(undefined);
    if (exit === 'elsewhere') return;
    scroll.current?.focus({ preventScroll: true });
    if (exit === 'stay' || !edited) return;
    const next = editableBeside(edited, exit, { rows: count, columns });
    if (!next) return;
    move(next);
    const row = rowAt(next.row);
    if (row) setEdited({ ...next, of: row });
  };
  const onClick = (event: MouseEvent) => {
    const cell = (event.target as Element).closest<HTMLElement>('[role=gridcell]');
    if (!cell) return;
    const picked = { row: Number(cell.dataset['row']), column: Number(cell.dataset['column']) };
    if (active.row === picked.row && active.column === picked.column) edit(active);
    else setActive(picked);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const act = { Enter: edit, F2: edit, ' ': open }[event.key];
    if (act) {
      event.preventDefault();
      act(active);
      return;
    }
    const shown = Math.floor((scroll.current?.clientHeight ?? rowPx) / rowPx) - 1;
    const next = moved(active, event, { rows: count, columns: columns.length, shown });
    if (!next) return;
    event.preventDefault();
    move(next);
  };
  const editorOf = ({ of, column }: Edited) => ({
    column,
    editor: <CellEditor key={`${of.id} ${column}`} scope={scope} column={columns[column]!} row={of} onEnd={endEdit} />,
  });
  const widths = columns.map(widthOf);
  const template = widths.map((width) => `${width}px`).join(' ');
  const width = widths.reduce((sum, px) => sum + px, 0);
  return (
    <>
      {error !== undefined && <Failure error={error} retry={retry} />}
      <Text id={`${id}-keys`} size="sm" c="dimmed">
        {canWrite ? keysOfWriter : keysOfReader}
      </Text>
      <div
        ref={scroll}
        className={classes['scroll']}
        role="grid"
        aria-label={label}
        aria-rowcount={total + 1}
        aria-colcount={columns.length}
        aria-readonly={!canWrite}
        aria-describedby={`${id}-keys`}
        aria-activedescendant={`${id}-${active.row}-${active.column}`}
        tabIndex={0}
        onClick={onClick}
        onKeyDown={onKeyDown}
      >
        <GridHeader columns={columns} width={width} template={template} input={input} onOrder={onOrder} />
        <div role="rowgroup" className={classes['rows']} style={{ height: virtualizer.getTotalSize(), width }}>
          {items.map(({ index, start }) => (
            <GridRow
              key={index}
              id={`${id}-${index}`}
              index={index}
              startPx={start}
              row={rowAt(index) ?? (edited?.row === index ? edited.of : undefined)}
              columns={columns}
              template={template}
              activeColumn={active.row === index ? active.column : undefined}
              canWrite={canWrite}
              edited={edited?.row === index ? editorOf(edited) : undefined}
            />
          ))}
        </div>
      </div>
    </>
  );
}

function widthOf({ name, kind }: ShownColumn): number {
  if (name === 'id') return widthsPx.id;
  return kind === 'date' ? widthsPx.date : widthsPx.other;
}

/** Indexes of the visible rows, and of one more. */
function rowsOf(range: Range, other: number | undefined): number[] {
  const rows = defaultRangeExtractor(range);
  if (other === undefined || other >= range.count || rows.includes(other)) return rows;
  return [...rows, other].sort((one, next) => one - next);
}

/** Rows of the page that the first visible row is on, and of the next page. */
function useRows(scope: TableScope, input: RowsInput, firstIndex: number, count: number) {
  const [first] = useDebouncedValue(Math.floor(firstIndex / pageRows), settleMs, { leading: true });
  const pages = [first, first + 1].filter((page) => page * pageRows < count);
  const results = useQueries({ queries: pages.map((page) => rowsQuery(scope, input, page)) });
  const failed = results.find(({ isError }) => isError);
  return {
    rowAt: (index: number): Row | undefined =>
      results[pages.indexOf(Math.floor(index / pageRows))]?.data?.[index % pageRows],
    error: failed?.error,
    retry: () => void failed?.refetch(),
  };
}

/** Next or previous cell that can be edited, in reading order. */
function editableBeside(
  { row, column }: Position,
  side: 'next' | 'previous',
  size: { rows: number; columns: ShownColumn[] },
): Position | undefined {
  const editable = size.columns.flatMap(({ isReadOnly }, position) => (isReadOnly ? [] : [position]));
  const step = side === 'next' ? 1 : -1;
  const inRow = editable[editable.indexOf(column) + step];
  if (inRow !== undefined) return { row, column: inRow };
  const other = row + step;
  return other < 0 || other >= size.rows ? undefined : { row: other, column: editable.at(step === 1 ? 0 : -1)! };
}

function moved(
  { row, column }: Position,
  { key, ctrlKey, metaKey }: KeyboardEvent,
  size: { rows: number; columns: number; shown: number },
): Position | undefined {
  const lastRow = size.rows - 1;
  const lastColumn = size.columns - 1;
  const isFar = ctrlKey || metaKey;
  switch (key) {
    case 'ArrowDown':
      return { row: Math.min(row + 1, lastRow), column };
    case 'ArrowUp':
      return { row: Math.max(row - 1, 0), column };
    case 'ArrowRight':
      return { row, column: Math.min(column + 1, lastColumn) };
    case 'ArrowLeft':
      return { row, column: Math.max(column - 1, 0) };
    case 'PageDown':
      return { row: Math.min(row + size.shown, lastRow), column };
    case 'PageUp':
      return { row: Math.max(row - size.shown, 0), column };
    case 'Home':
      return { row: isFar ? 0 : row, column: 0 };
    case 'End':
      return { row: isFar ? lastRow : row, column: lastColumn };
    default:
      return undefined;
  }
}
