import { isRecord } from '@parley/contracts/is-record';
import { computedActions, type ComputedSettings, maxColumns } from '@parley/contracts/tables/table-schema';
import { show } from './column-names';
import { dependenciesOf, reachedFrom } from './computed-columns';
import { readSchemaInput } from './schema-input';
import type { Column } from './table.entity';
import { invalid } from './value-schema';

const actions: readonly unknown[] = computedActions;
const maxLengths = { prompt: 10_000, code: 20_000, model: 80, workflowId: 20 };

/** Reads how a column is computed. Whether the dependencies are there is for `checkDependencies` to say. */
export function readComputedSettings(raw: unknown, column: string): ComputedSettings {
  const path = `${column}.x-zui.computed`;
  if (!isRecord(raw)) throw invalid(path, 'must be an object');
  const { action, dependencies = [], enabled } = raw;
  if (!actions.includes(action)) throw invalid(`${path}.action`, 'must be ai, code or workflow');
  if (!isListOfNames(dependencies)) throw invalid(`${path}.dependencies`, 'must be a list of names of columns');
  if (enabled !== undefined && typeof enabled !== 'boolean') throw invalid(`${path}.enabled`, 'must be true or false');
  const texts = readTexts(raw, path);
  if (action === 'ai' && !texts.prompt) throw invalid(path, 'needs a prompt, as its action is ai');
  if (action === 'code' && !texts.code) throw invalid(path, 'needs code, as its action is code');
  return {
    action: action as ComputedSettings['action'],
    dependencies: [...new Set(dependencies)],
    model: 'gpt-4o',
    ...texts,
    ...(enabled === undefined ? {} : { enabled }),
  };
}

/** The code that a client's schema has, as far as it may be accepted. */
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

/** Throws InvalidJsonSchema unless all dependencies are columns and none leads back to where it began. */
export function checkDependencies(columns: ReadonlyMap<string, Pick<Column, 'name' | 'schema'>>): void {
  const computed = [...columns.values()].filter(({ schema }) => schema['x-zui'].computed);
  for (const { name, schema } of computed) {
    const missing = schema['x-zui'].computed!.dependencies.find((dependency) => !columns.has(dependency));
    if (missing !== undefined) throw invalid(show(name), `is computed from ${show(missing)}, which is no column`);
  }
  for (const column of computed) {
    const reached = reachedFrom([column.name], computed, (other) => dependenciesOf(other, columns));
    if (reached.has(column)) throw invalid(show(column.name), 'is computed from itself');
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
