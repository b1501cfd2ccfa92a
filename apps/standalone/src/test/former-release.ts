import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toInstance } from '@parley/contracts/fields';
import { isRecord } from '@parley/contracts/is-record';
import type { Class, Operation } from '@parley/contracts/operation';
import { fieldSources } from '@parley/contracts/query-fields';
import type { Fields, Shapes } from '@parley/contracts/test/shapes';
import type { Request } from './requests';

const path = join(__dirname, '../../../../libs/contracts/src/released.json');

export const formerRelease = JSON.parse(readFileSync(path, 'utf8')) as Shapes;

/** What a gateway that knows these fields alone makes of a request. */
export function inputOfThen({ input }: Operation, request: Request, known: Fields): object {
  const query = Object.entries(request.query ?? {}).flatMap(([name, value]) =>
    isRecord(value) ? Object.entries(value).map(([key, text]) => [`${name}.${key}`, text]) : [[name, value]],
  );
  const sources = {
    path: request.path ?? {},
    query: Object.fromEntries(query) as Record<string, string | string[]>,
    header: request.headers ?? {},
  };
  const parameters = fieldSources(input)
    .filter(({ name }) => known[name])
    .map((source) => [source.name, source.read(sources[source.in])]);
  const body = request.body && toInstance(input as Class<object>, request.body);
  return onlyKnown({ ...(body as object | undefined), ...Object.fromEntries(parameters) }, known, '') as object;
}

/** In what an answer disappoints whoever reads it by these fields. */
export function misfits(value: unknown, fields: Fields, place = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => misfit(entry, fields, `${place}[]`));
  if (!isRecord(value)) return [];
  const named = namesBelow(place, fields);
  return [
    ...named.flatMap((name) => misfit(value[name], fields, placeOf(place, name))),
    ...Object.keys(value)
      .filter((name) => !named.includes(name))
      .flatMap((name) => misfit(value[name], fields, `${place}{}`)),
  ];
}

function misfit(value: unknown, fields: Fields, place: string): string[] {
  const field = fields[place];
  if (!field || (value === null && field.nullable)) return [];
  if (value === undefined) return field.required ? [`${place} is absent`] : [];
  if (!is[field.type]!(value)) return [`${place} is ${JSON.stringify(value)} and no ${field.type}`];
  return misfits(value, fields, place);
}

const is: Record<string, (value: unknown) => boolean> = {
  any: () => true,
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  object: isRecord,
  string: (value) => typeof value === 'string',
};

/** The value without what is not among the fields. Where none are told, there may be any. */
function onlyKnown(value: unknown, known: Fields, place: string): unknown {
  if (Array.isArray(value)) return value.map((entry) => onlyKnown(entry, known, `${place}[]`));
  if (!isRecord(value)) return value;
  const named = namesBelow(place, known);
  if (place !== '' && named.length === 0 && !known[`${place}{}`]) return value;
  const entries = Object.entries(value).flatMap(([name, entry]) => {
    if (named.includes(name)) return [[name, onlyKnown(entry, known, placeOf(place, name))]];
    return known[`${place}{}`] ? [[name, onlyKnown(entry, known, `${place}{}`)]] : [];
  });
  return Object.fromEntries(entries);
}

function namesBelow(place: string, fields: Fields): string[] {
  const start = place === '' ? '' : `${place}.`;
  return Object.keys(fields)
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length))
    .filter((name) => /^[^.[{]+$/.test(name));
}

function placeOf(place: string, name: string): string {
  return place === '' ? name : `${place}.${name}`;
}
