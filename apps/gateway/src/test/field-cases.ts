import type { Class } from '@parley/contracts/operation';
import { type Field, fieldsOf, isOpen } from './contract-fields';
import { edgesOf, entryName, isClass } from './field-values';

/** Position of a field in a body, and the start of an error message about it. */
interface FieldPath {
  path: (string | number)[];
  /** For an entry of a map: `states has an entry "N0" whose `. */
  lead: string;
  /** Rest of the field's name: `list[0].name`. */
  name: string;
}

export interface Case extends FieldPath {
  value: unknown;
  /** Part of the expected error; undefined when the value is accepted. */
  problem?: string;
  isDropped?: boolean;
}

/** Values at and beyond the limits of each field of the class, including nested ones. */
export function* casesOf(type: Class<object>, at: FieldPath = { path: [], lead: '', name: '' }): Generator<Case> {
  for (const field of fieldsOf(type)) {
    const fieldPath = fieldIn(at, field.name);
    yield { ...fieldPath, value: undefined, problem: field.isRequired ? 'is missing' : undefined };
    if (!field.rules.some(({ name }) => name === 'jsonValue'))
      yield { ...fieldPath, value: null, problem: field.isNullable ? undefined : '' };
    for (const rule of field.rules) {
      const { accepted = [], rejected = [] } = edgesOf(field, rule);
      for (const value of accepted) yield { ...fieldPath, value };
      for (const [value, problem] of rejected) yield { ...fieldPath, value, problem };
    }
    yield* nestedCases(field, fieldPath);
  }
  yield { ...fieldIn(at, 'unknownField'), value: 1, isDropped: !isOpen(type) };
}

function* nestedCases({ rules }: Field, fieldPath: FieldPath): Generator<Case> {
  const { path, lead, name } = fieldPath;
  for (const { name: rule, context } of rules) {
    if (!isClass(context.type)) continue;
    if (rule === 'isObject') yield* casesOf(context.type, fieldPath);
    if (rule === 'listOf') yield* casesOf(context.type, { path: [...path, 0], lead, name: `${name}[0]` });
    const inEntry = `${lead}${name} has an entry "${entryName(0)}" whose `;
    if (rule === 'mapOf') yield* casesOf(context.type, { path: [...path, entryName(0)], lead: inEntry, name: '' });
  }
}

function fieldIn({ path, lead, name }: FieldPath, field: string): FieldPath {
  return { path: [...path, field], lead, name: name ? `${name}.${field}` : field };
}
