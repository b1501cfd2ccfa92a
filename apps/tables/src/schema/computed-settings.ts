import { isRecord } from '@parley/contracts/is-record';
import { computedActions, type ComputedSettings, maxColumns } from '@parley/contracts/tables/table-schema';
import { dependenciesOf, reachedFrom } from './column-dependencies';
import { show } from './column-names';
import type { TableColumn } from './columns';
import { readSchemaInput } from './schema-input';
import { invalid } from './value-schema';

const actions: readonly unknown[] = computedActions;
const maxLengths = { prompt: 10_000, code: 20_000, model: 80, workflowId: 20 };

/** Validates the settings of a computed column, except that its dependencies exist: `checkDependencies` does that. */
export function readComputedSettings(raw: unknown, column: string): ComputedSettings {
  const path = `${column}.x-zui.computed`;
  if (!isRecord(raw)) throw invalid(path, 'must be an object');
  const { action, dependencies = [], enabled } = raw;
  if (!actions.includes(action)) throw invalid(`${path}.action`, 'must be ai, code or workflow');
  if (!isListOfNames(dependencies)) throw invalid(`${path}.dependencies`, 'must be a list of column names');
  if (enabled !== undefined && typeof enabled !== 'boolean') throw invalid(`${path}.enabled`, 'must be true or false');
  const texts = readTexts(raw, path);
  if (action === 'ai' && !texts.prompt) throw invalid(path, 'needs a prompt because its action is ai');
  if (action === 'code' && !texts.code) throw invalid(path, 'needs code because its action is code');
  return {
    action: action as ComputedSettings['action'],
    dependencies: [...new Set(dependencies)],
    model: 'gpt-4o',
    ...texts,
    ...(enabled === undefined ? {} : { enabled }),
  };
}

/** Code in the schema of a client. Skips code that the schema validation refuses anyway. */
export function codeIn(schema: Record<string, unknown>): { column: string; code: string }[] {
  const found = readSchemaInput(schema).columns.flatMap(([column, raw]) => {
    const settings = isRecord(raw) ? raw['x-zui'] : undefined;
    const computed = isRecord(settings) ? settings['computed'] : undefined;
    if (!isRecord(computed) || computed['action'] !== 'code') return [];
    const { code } = computed;
    return typeof code === 'string' && code !== '' && code.length <= maxLengths.code ? [{ column, code }] : [];
  });
  return found.length <= maxColumns ? found : [];
}

/** Throws InvalidJsonSchema for a dependency that is not a column, and for a cycle. */
export function checkDependencies(columns: ReadonlyMap<string, Pick<TableColumn, 'name' | 'schema'>>): void {
  const computed = [...columns.values()].filter(({ schema }) => schema['x-zui'].computed);
  for (const { name, schema } of computed) {
    const missing = schema['x-zui'].computed!.dependencies.find((dependency) => !columns.has(dependency));
    if (missing !== undefined) throw invalid(show(name), `depends on ${show(missing)}, which is not a column`);
  }
  for (const column of computed) {
    const reached = reachedFrom([column.name], computed, (other) => dependenciesOf(other, columns));
    if (reached.has(column)) throw invalid(show(column.name), 'depends on itself');
  }
}

function isListOfNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= maxColumns && value.every((name) => typeof name === 'string');
}

type Texts = Partial<Record<keyof typeof maxLengths, string>>;

function readTexts(raw: Record<string, unknown>, path: string): Texts {
  const texts: Texts = {};
  for (const [name, maxLength] of Object.entries(maxLengths) as [keyof Texts, number][]) {
    const text = raw[name];
    if (text === undefined || text === null) continue;
    if (typeof text !== 'string' || text.length > maxLength)
      throw invalid(`${path}.${name}`, `must be a string of at most ${maxLength} characters`);
    texts[name] = text;
  }
  return texts;
}
