import type { Row } from '@botpress/client';
import { memo, type ReactNode } from 'react';
import { Time } from '../parts/time';
import { type ShownColumn, stateOf } from './columns';
import classes from './grid.module.css';

interface Props {
  id: string;
  index: number;
  startPx: number;
  /** Absent until it is loaded. */
  row?: Row;
  columns: ShownColumn[];
  template: string;
  activeColumn?: number;
  canWrite: boolean;
  /** Position of the column that is edited, with its editor. */
  edited?: { column: number; editor: ReactNode };
}

/** Characters of a value that a cell shows. */
const maxShown = 200;

/** Row of the grid. It consists of plain elements, because those of the component library take longer to render. */
export const GridRow = memo(function GridRow(props: Props) {
  const { id, index, startPx, row, columns, template, activeColumn, canWrite, edited } = props;
  const classOf = (position: number) => {
    if (edited?.column === position) return `${classes['cell']} ${classes['edited']}`;
    return activeColumn === position ? `${classes['cell']} ${classes['active']}` : classes['cell'];
  };
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-busy={row === undefined}
      className={edited ? `${classes['body']} ${classes['open']}` : classes['body']}
      style={{ gridTemplateColumns: template, transform: `translateY(${startPx}px)` }}
    >
      {columns.map((column, position) => (
        <div
          key={column.name}
          id={`${id}-${position}`}
          role="gridcell"
          aria-colindex={position + 1}
          aria-selected={activeColumn === position}
          aria-readonly={canWrite && column.isReadOnly ? true : undefined}
          className={classOf(position)}
          data-row={index}
          data-column={position}
        >
          {edited?.column === position ? edited.editor : row ? <Value column={column} row={row} /> : '…'}
        </div>
      ))}
    </div>
  );
});

function Value({ column, row }: { column: ShownColumn; row: Row }) {
  const state = stateOf(column, row);
  if (state) {
    return (
      <span className={classes[state.status]} title={state.error}>
        {state.status}
      </span>
    );
  }
  const value: unknown = row[column.name];
  if (value === null || value === undefined) return null;
  if (column.kind === 'date' && typeof value === 'string') return <Time at={value} />;
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, maxShown);
}
