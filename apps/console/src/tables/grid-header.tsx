import type { ShownColumn } from './columns';
import classes from './grid.module.css';
import type { RowsInput } from './queries';

interface Props {
  columns: ShownColumn[];
  width: number;
  template: string;
  input: RowsInput;
  onOrder: (column: string | undefined, direction: 'asc' | 'desc' | undefined) => void;
}

/** Names of the columns, which sort: upwards, downwards, then again by id. A search has an order of its own. */
export function GridHeader({ columns, width, template, input, onOrder }: Props) {
  const isSearch = input.search !== undefined;
  return (
    <div role="rowgroup" className={classes['header']} style={{ width }}>
      <div role="row" aria-rowindex={1} className={classes['row']} style={{ gridTemplateColumns: template }}>
        {columns.map(({ name }, index) => {
          const direction = !isSearch && (input.orderBy ?? 'id') === name ? input.orderDirection : undefined;
          return (
            <div
              key={name}
              role="columnheader"
              aria-colindex={index + 1}
              aria-sort={direction && (direction === 'asc' ? 'ascending' : 'descending')}
            >
              <button
                type="button"
                className={classes['name']}
                title={`Sort by ${name}`}
                disabled={isSearch}
                onClick={() => onOrder(...nextOrder(name, direction))}
              >
                {name}
                {direction && <span aria-hidden>{direction === 'asc' ? ' ↑' : ' ↓'}</span>}
              </button>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function nextOrder(
  name: string,
  direction: 'asc' | 'desc' | undefined,
): [column: string | undefined, direction: 'asc' | 'desc' | undefined] {
  if (direction === undefined) return [name, 'asc'];
  if (direction === 'asc') return [name, 'desc'];
  return [undefined, undefined];
}
