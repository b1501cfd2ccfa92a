import * as fc from 'fast-check';
import { allOperations } from '@parley/contracts/contracts';
import { componentSchemas, type JsonSchema, schemaNameOf } from '@parley/contracts/json-schema';
import type { Operation } from '@parley/contracts/operation';
import { fieldSources } from '@parley/contracts/query-fields';

/** JSON schemas of all contract classes. Using `allOperations` keeps the import that declares them. */
const components = allOperations.length > 0 ? componentSchemas() : {};

/** Longest generated text, in characters. Longer limits are not tested: their bodies would dominate the run time. */
export const longestText = 100_001;

/** Changes to a valid request. Absent parts stay unchanged. */
export interface Damage {
  path: Record<string, string>;
  query: [string, string][];
  headers: Record<string, string | null>;
  body?: { whole: unknown } | { fields: Record<string, unknown> } | { text: string };
}

/** Mapped, since fast-check lists all characters of a named unit anew for each text. */
const characterOf = (unit: 'binary' | 'grapheme') =>
  fc.string({ unit, minLength: 1, maxLength: 1 }).map((character) => character);
const anyCharacter = characterOf('binary');
const visibleCharacter = characterOf('grapheme');

/** Texts that often break programs, the most effective ones with the highest weight. */
const oddTexts = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a\0b', 'a\ud800b', '__proto__', '') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ' ',
      '\0',
      '\udfff',
      'constructor',
      'toString',
      '..',
      '../../etc/passwd',
      'null',
      '%',
      '%zz',
      "'; DROP TABLE bot; --",
      '\u202e\u0301\uffff',
      '$1',
      '{{tag}}',
      'NaN',
      '-0',
      '1e400',
      '9'.repeat(40),
      'é'.repeat(150),
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: visibleCharacter, maxLength: 20 }) },
);
const hugeTexts = fc.constantFrom('x'.repeat(5_000), '\u{1F600}'.repeat(1_000), 'x'.repeat(longestText));

const names = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z][a-zA-Z]{0,8}$/) },
  { weight: 2, arbitrary: fc.stringMatching(/^[A-Z][A-Z0-9_]{0,8}$/) },
  { weight: 1, arbitrary: fc.constantFrom('a.b', 'a#b', 'a:b', 'a/b', 'x'.repeat(300)) },
  { weight: 1, arbitrary: oddTexts },
);

const nested = (levels: number, inner: unknown) =>
  Array.from({ length: levels }).reduce<unknown>((value, _, level) => (level % 2 ? [value] : { a: value }), inner);

const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    Number.MAX_SAFE_INTEGER + 1,
    [],
    {},
    [[]],
    [null],
    nested(99, 1),
    nested(101, 1),
    nested(2_000, 1),
    Array.from({ length: 1_001 }, () => 0),
    Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`key${index}`, 'x'])),
    // `JSON.parse` creates an own property `__proto__`; an object literal would set the prototype.
    JSON.parse('{"__proto__":{"id":"x"},"constructor":{"prototype":null}}'),
    { toJSON: 'x', then: 'x', length: 1e9 },
  ),
  oddTexts,
  hugeTexts,
  fc.jsonValue({ maxDepth: 3 }),
);

const schemas = fc.constantFrom(
  { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  { type: 'nonsense' },
  { $ref: '#' },
  { $ref: '#/nowhere' },
  { $ref: 'http://127.0.0.1:1/schema.json' },
  { $id: 'x', $schema: 'x' },
  { pattern: '(' },
  { pattern: '^(a+)+$', minLength: -1 },
  { properties: { __proto__: 1 } },
  { allOf: [], enum: [] },
);

/** Values for a contract schema: most are valid, some are at its limits and some beyond. */
function valuesOf(schema: JsonSchema, depth = 0): fc.Arbitrary<unknown> {
  const { type, properties, items, additionalProperties, nullable } = schema;
  const kept = (): fc.Arbitrary<unknown> => {
    if (schema['$ref']) return valuesOf(resolve(schema['$ref'] as string), depth);
    if (schema['oneOf']) return fc.oneof(...(schema['oneOf'] as JsonSchema[]).map((one) => valuesOf(one, depth)));
    if (schema['allOf']) return valuesOf((schema['allOf'] as JsonSchema[])[0]!, depth);
    if (schema['enum']) return fc.constantFrom(...(schema['enum'] as unknown[]));
    switch (type) {
      case 'string':
        return textsOf(schema);
      case 'integer':
      case 'number':
        return numbersOf(schema);
      case 'boolean':
        return fc.boolean();
      case 'array':
        return fc.array(valuesOf(items as JsonSchema, depth + 1), { maxLength: 3 });
      case 'object':
        if (properties) return recordsOf(schema, depth);
        if (additionalProperties === true) return fc.oneof(schemas, fc.object({ maxDepth: 2, key: names }));
        return fc.dictionary(names, valuesOf(additionalProperties as JsonSchema, depth + 1), {
          maxKeys: depth > 2 ? 1 : 4,
          noNullPrototype: true,
        });
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  };
  return fc.oneof(
    { weight: 16, arbitrary: kept() },
    { weight: nullable ? 4 : 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: oddValues },
  );
}

/** Objects with some of their fields. Four of five have all required fields. */
function recordsOf(schema: JsonSchema, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const properties = schema['properties'] as Record<string, JsonSchema>;
  const required = (schema['required'] as string[] | undefined) ?? [];
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, valuesOf(field, depth + 1)]),
  );
  return fc.oneof(
    { weight: 4, arbitrary: fc.record(fields, { requiredKeys: required }) },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
  );
}

function textsOf({ minLength = 0, maxLength = 200, pattern, format }: JsonSchema): fc.Arbitrary<string> {
  const [min, max] = [minLength as number, Math.min(maxLength as number, longestText - 1)];
  const near = fc
    .constantFrom(...[min - 1, min, max, max + 1].filter((length) => length >= 0))
    .map((length) => 'a'.repeat(length));
  const usual =
    format === 'email'
      ? fc.emailAddress()
      : format === 'url'
        ? fc.webUrl()
        : format === 'date-time'
          ? fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
          : pattern
            ? fc.stringMatching(new RegExp(pattern as string), { maxLength: Math.min(max, 40) })
            : fc.string({ unit: visibleCharacter, minLength: min, maxLength: Math.max(min, Math.min(max, 40)) });
  return fc.oneof({ weight: 8, arbitrary: usual }, { weight: 2, arbitrary: near }, { weight: 1, arbitrary: oddTexts });
}

function numbersOf({ type, minimum = -1e9, maximum = 1e9 }: JsonSchema): fc.Arbitrary<number> {
  const [min, max] = [minimum as number, maximum as number];
  return fc.oneof(
    fc.constantFrom(min - 1, min, max, max + 1),
    type === 'integer' ? fc.maxSafeInteger() : fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
}

function resolve(reference: string): JsonSchema {
  const schema = components[reference.split('/').at(-1)!];
  if (!schema) throw new Error(`Contract class ${reference} not found.`);
  return schema;
}

const brokenBodies = fc.constantFrom(
  '',
  'null',
  '[]',
  '"text"',
  '{',
  '{"a":1,}',
  '{"a":1}{"b":2}',
  '\ufeff{}',
  '['.repeat(100_000),
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  `{"a":${'9'.repeat(400)}}`,
  '{"name":"a","name":null}',
);

const contextHeaders = ['authorization', 'x-workspace-id', 'x-bot-id'];
const otherHeaders = [
  'x-multiple-integrations',
  'x-integration-id',
  'x-integration-alias',
  'x-integration-name',
  'x-user-id',
  'x-user-role',
  'x-bypass-breaking-changes-detection',
  'x-request-id',
  'traceparent',
  'content-type',
  'accept-encoding',
];
// Characters that HTTP allows in a header; the client refuses all others.
const headerValues = fc.oneof(
  fc.constantFrom(
    'true',
    'false',
    'null',
    '',
    'x'.repeat(2_000),
    'Bearer x',
    'a,b',
    '\x80\xff',
    'text/plain',
    '__proto__',
  ),
  fc.string({
    unit: fc
      .integer({ min: 0x21, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 30,
  }),
);

export function damagesOf(operation: Operation): fc.Arbitrary<Damage> {
  const sources = fieldSources(operation.input);
  const named = (where: string) => sources.filter((source) => source.in === where);
  const rarely = <T>(arbitrary: fc.Arbitrary<T>, weight = 1) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight, arbitrary });

  const path = fc.record(
    Object.fromEntries(named('path').map(({ name, schema }) => [name, rarely(fc.oneof(textsOf(schema), oddTexts))])),
  );
  const query = fc.tuple(
    ...named('query').map(({ name, schema }) => rarely(queryOf(name, schema), 4)),
    rarely(fc.tuple(names, oddTexts).map((pair): [string, string][] => [pair])),
  );
  const headers = fc.record({
    ...Object.fromEntries(
      contextHeaders.map((name) => [
        name,
        fc.oneof(
          { weight: 18, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: headerValues },
          { weight: 1, arbitrary: fc.constant(null) },
        ),
      ]),
    ),
    ...Object.fromEntries(
      otherHeaders.map((name) => [
        name,
        fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: headerValues }),
      ]),
    ),
  });
  return fc.record({
    path: path.map(present),
    query: query.map((found) => found.flatMap((pairs) => pairs ?? [])),
    headers: headers.map(present),
    body: bodiesOf(operation),
  });
}

function bodiesOf({ input, route }: Operation): fc.Arbitrary<Damage['body']> {
  if (/^GET /.test(route!)) return fc.constant(undefined);
  const name = schemaNameOf(input, components);
  if (!name)
    return fc.oneof(
      fc.constant(undefined),
      oddValues.map((whole) => ({ whole })),
      brokenBodies.map((text) => ({ text })),
    );
  const schema = components[name]!;
  const properties = Object.entries(schema['properties'] as Record<string, JsonSchema>);
  const field = fc
    .constantFrom(...properties)
    .chain(([name, of]) =>
      fc.tuple(fc.constant(name), fc.oneof({ weight: 3, arbitrary: valuesOf(of) }, oddTexts, oddValues)),
    );
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(undefined) },
    {
      weight: 10,
      arbitrary: fc
        .array(field, { minLength: 1, maxLength: 3 })
        .map((found) => ({ fields: Object.fromEntries(found) })),
    },
    { weight: 8, arbitrary: recordsOf(schema, 0).map((whole) => ({ whole })) },
    { weight: 2, arbitrary: oddValues.map((whole) => ({ whole })) },
    { weight: 1, arbitrary: brokenBodies.map((text) => ({ text })) },
  );
}

/** Query parameter: once, repeated, or with a dotted name as a tag filter. */
function queryOf(name: string, schema: JsonSchema): fc.Arbitrary<[string, string][]> {
  const values = fc.oneof(
    { weight: 3, arbitrary: valuesOf((schema['items'] as JsonSchema | undefined) ?? schema).map(asText) },
    { weight: 1, arbitrary: oddTexts },
  );
  const once = values.map((value) => [[name, value]] as [string, string][]);
  const repeated = fc
    .array(values, { maxLength: 3 })
    .map((found) => found.map((value) => [name, value] as [string, string]));
  const dotted = fc
    .array(fc.tuple(names, values), { maxLength: 2 })
    .map((found) => found.map(([tag, value]) => [`${name}.${tag}`, value] as [string, string]));
  return fc.oneof({ weight: 4, arbitrary: once }, repeated, dotted);
}

function asText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // The server refuses longer request lines before any handler runs.
  return text.slice(0, 3_000);
}

function present<T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as never;
}
