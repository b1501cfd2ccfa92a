import { useDebouncedValue } from '@mantine/hooks';
import type { Row } from '@botpress/client';
import { useQueries } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type MouseEvent, useId, useRef, useState } from 'react';
import { Failure } from '../parts/failure';
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
  onOrder: (column: string | undefined, direction: 'asc' | 'desc' | undefined) => void;
  onOpen: (row: Row, column: string) => void;
}

interface Position {
  row: number;
  column: number;
}

const rowPx = 36;
const overscan = 5;
/** Pages that the reader scrolls past in less time are not requested. */
const settleMs = 80;
/** Browsers limit the height of an element: Firefox to 17 million pixels. */
export const maxRows = 450_000;
const widthsPx = { id: 90, date: 220, other: 180 };

/**
 * Grid that requests and renders the visible rows only. The arrow keys move the active cell; Enter or a second
 * click opens its row.
 */
export function Grid({ scope, label, columns, input, total, onOrder, onOpen }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const id = useId();
  const [active, setActive] = useState<Position>({ row: 0, column: 0 });
  const count = Math.min(total, maxRows);
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowPx,
    overscan,
    // Renders when the browser is about to paint instead of in each scroll event.
    useFlushSync: false,
    // The header covers the first row of the viewport.
    scrollPaddingStart: rowPx,
  });
  const items = virtualizer.getVirtualItems();
  const { rowAt, error, retry } = useRows(scope, input, items[0]?.index ?? 0, count);

  const open = ({ row: index, column }: Position) => {
    const row = rowAt(index);
    if (row) onOpen(row, columns[column]!.name);
  };
  const onClick = (event: MouseEvent) => {
    const cell = (event.target as Element).closest<HTMLElement>('[role=gridcell]');
    if (!cell) return;
    const picked = { row: Number(cell.dataset['row']), column: Number(cell.dataset['column']) };
    if (active.row === picked.row && active.column === picked.column) open(active);
    else setActive(picked);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      open(active);
      return;
    }
    const shown = Math.floor((scroll.current?.clientHeight ?? rowPx) / rowPx) - 1;
    const next = moved(active, event, { rows: count, columns: columns.length, shown });
    if (!next) return;
    event.preventDefault();
    setActive(next);
    virtualizer.scrollToIndex(next.row);
    const cell = scroll.current?.querySelectorAll('[role=columnheader]')[next.column];
    cell?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  const widths = columns.map(widthOf);
  const template = widths.map((width) => `${width}px`).join(' ');
  const width = widths.reduce((sum, px) => sum + px, 0);
  return (
    <>
      {error !== undefined && <Failure error={error} retry={retry} />}
      <div
        ref={scroll}
        className={classes['scroll']}
        role="grid"
        aria-label={label}
        aria-rowcount={total + 1}
        aria-colcount={columns.length}
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
              row={rowAt(index)}
              columns={columns}
              template={template}
              activeColumn={active.row === index ? active.column : undefined}
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
