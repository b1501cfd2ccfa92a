import { toValue } from './cell-text';
import type { ColumnKind, ShownColumn } from './columns';

/** Condition of the filter builder. */
export interface Condition {
  column: string;
  operator: string;
  /** Text of its editor; unused where the operator needs no value. */
  text: string;
}

export interface Filter {
  /** Whether rows must satisfy all conditions or any of them. */
  match: 'all' | 'any';
  conditions: Condition[];
}

export const noFilter: Filter = { match: 'all', conditions: [] };

interface Operator {
  label: string;
  kinds: ColumnKind[];
  needsText: boolean;
  condition: (value: unknown) => unknown;
}

const ordered: ColumnKind[] = ['number', 'date'];
const all: ColumnKind[] = ['text', 'number', 'boolean', 'date', 'json'];

export const operators: Record<string, Operator> = {
  equals: {
    label: 'is',
    kinds: ['text', 'number', 'boolean', 'date'],
    needsText: true,
    condition: (value) => ({ $eq: value }),
  },
  differs: {
    label: 'is not',
    kinds: ['text', 'number', 'boolean', 'date'],
    needsText: true,
    condition: (value) => ({ $ne: value }),
  },
  contains: {
    label: 'contains',
    kinds: ['text'],
    needsText: true,
    condition: (value) => ({ $regex: escaped(String(value)), $options: 'i' }),
  },
  less: { label: 'is below', kinds: ordered, needsText: true, condition: (value) => ({ $lt: value }) },
  atMost: { label: 'is at most', kinds: ordered, needsText: true, condition: (value) => ({ $lte: value }) },
  more: { label: 'is above', kinds: ordered, needsText: true, condition: (value) => ({ $gt: value }) },
  atLeast: { label: 'is at least', kinds: ordered, needsText: true, condition: (value) => ({ $gte: value }) },
  exists: { label: 'has a value', kinds: all, needsText: false, condition: () => ({ $exists: true }) },
  missing: { label: 'is empty', kinds: all, needsText: false, condition: () => ({ $exists: false }) },
};

export function operatorsOf(kind: ColumnKind): { value: string; label: string }[] {
  return Object.entries(operators)
    .filter(([, { kinds }]) => kinds.includes(kind))
    .map(([value, { label }]) => ({ value, label }));
}

/** Filter object of the API; undefined without a condition. Throws an error for a text that its column cannot have. */
export function toApiFilter(
  { match, conditions }: Filter,
  columns: ShownColumn[],
): Record<string, unknown> | undefined {
  const parts = conditions.flatMap(({ column, operator, text }) => {
    const kind = columns.find(({ name }) => name === column)?.kind;
    const known = operators[operator];
    if (!kind || !known?.kinds.includes(kind)) return [];
    if (known.needsText && text === '') return [];
    return [{ [column]: known.condition(known.needsText ? toValue(kind, text) : undefined) }];
  });
  if (parts.length === 0) return undefined;
  return match === 'all' ? { $and: parts } : { $or: parts };
}

/** Filter in the address of the page; no filter for a text that is none. */
export function readFilter(text = 'null'): Filter {
  try {
    const filter = JSON.parse(text) as Partial<Filter> | null;
    const conditions: unknown = filter?.conditions;
    if (!Array.isArray(conditions) || !conditions.every(isCondition)) return noFilter;
    return { match: filter?.match === 'any' ? 'any' : 'all', conditions };
  } catch {
    // Somebody has edited the address.
    return noFilter;
  }
}

function isCondition(entry: unknown): entry is Condition {
  const { column, operator, text } = (entry ?? {}) as Partial<Record<keyof Condition, unknown>>;
  return [column, operator, text].every((part) => typeof part === 'string');
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
