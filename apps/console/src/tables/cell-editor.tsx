import type { Row } from '@botpress/client';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { apiErrorOf } from '../api/api-error';
import { toText, toValue } from './cell-text';
import type { ShownColumn } from './columns';
import classes from './grid.module.css';
import { rowsKey, saveRow, tableKey, type TableScope } from './queries';
import { ValueInput } from './value-input';

/** Way in which the editor was left. */
export type CellExit = 'stay' | 'next' | 'previous' | 'elsewhere';

interface Props {
  scope: TableScope;
  column: ShownColumn;
  row: Row;
  onEnd: (exit: CellExit) => void;
}

/**
 * Editor in a cell. Enter saves, Tab saves and moves on, Escape cancels, and leaving it saves as well; Shift and Enter
 * begin a new line. A refused value stays in the editor with the reason.
 */
export function CellEditor({ scope, column, row, onEnd }: Props) {
  const { name, kind } = column;
  const before = toText(kind, row[name]);
  const [text, setText] = useState(before);
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLDivElement>(null);
  const hasEnded = useRef(false);
  const saving = useRef<Promise<boolean>>(undefined);
  const queries = useQueryClient();

  useEffect(() => focusField(field.current), []);
  useEffect(() => {
    field.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [problem]);

  const save = async (): Promise<boolean> => {
    if (text === before) return true;
    try {
      const saved = await saveRow(scope, { [name]: toValue(kind, text) }, row.id);
      queries.setQueriesData<Row[]>({ queryKey: rowsKey(scope) }, (rows) =>
        rows?.map((known) => (known.id === saved.id ? { ...known, ...saved } : known)),
      );
      void queries.invalidateQueries({ queryKey: tableKey(scope) });
      return true;
    } catch (error) {
      const { message, id } = apiErrorOf(error);
      setProblem(id === undefined ? message : `${message} Search the logs for ${id}.`);
      return false;
    }
  };
  const end = (exit: CellExit) => {
    if (hasEnded.current) return;
    hasEnded.current = true;
    onEnd(exit);
  };
  const saveAndEnd = async (exit: CellExit) => {
    if (hasEnded.current) return;
    saving.current ??= save().finally(() => (saving.current = undefined));
    if (await saving.current) end(exit);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const exit = exitOf(event);
    if (exit === undefined && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    if (exit === undefined) end('stay');
    else void saveAndEnd(exit);
  };
  return (
    <div
      ref={field}
      className={classes['field']}
      onKeyDown={onKeyDown}
      onBlur={() => void saveAndEnd('elsewhere')}
      onClick={(event) => event.stopPropagation()}
    >
      <ValueInput
        column={column}
        aria-label={name}
        text={text}
        error={problem}
        isMultiline
        onChange={(next) => {
          setProblem(undefined);
          setText(next);
        }}
      />
    </div>
  );
}

/** Focuses the editor in the element, with the cursor at the end of its text. */
export function focusField(within: ParentNode | null): void {
  const field = within?.querySelector<HTMLElement>('input, select, textarea');
  field?.focus();
  if (field instanceof HTMLTextAreaElement) field.setSelectionRange(field.value.length, field.value.length);
}

function exitOf({ key, shiftKey }: KeyboardEvent): CellExit | undefined {
  if (key === 'Enter' && !shiftKey) return 'stay';
  if (key === 'Tab') return shiftKey ? 'previous' : 'next';
  return undefined;
}
