import type { FieldSource, RawQuery } from '@parley/contracts/query-fields';

export interface ParameterCase {
  sent: RawQuery;
  value?: unknown;
  problem?: string;
}

interface ParameterSchema {
  type: string;
  enum?: string[];
  minimum: number;
  maximum: number;
  maxLength: number;
  maxItems: number;
  maxProperties: number;
  pattern?: string;
  format?: string;
  items: { maxLength: number; enum?: string[] };
  additionalProperties: true | { maxLength: number };
}

type Text = string | string[];
type CasesOf = (schema: ParameterSchema) => { taken: [Text, unknown?][]; refused: [Text, string][] };

/** Limit of a tag filter in bytes, which JSON schema cannot express. */
const maxTagBytes = 2048;

const kinds: Record<string, CasesOf> = {
  string: ({ maxLength }) => ({
    taken: [['text'], ['x'.repeat(maxLength)]],
    refused: [['x'.repeat(maxLength + 1), `must be at most ${maxLength} characters`]],
  }),
  choice: ({ enum: choices = [] }) => ({
    taken: choices.map((choice) => [choice]),
    refused: [['none of them', `must be one of: ${choices.join(', ')}`]],
  }),
  integer: ({ minimum, maximum }) => ({
    taken: [minimum, maximum].map((number) => [String(number), number]),
    refused: [minimum - 1, maximum + 1, 1.5, 'x', '1e1'].map((value) => [
      String(value),
      `must be an integer from ${minimum} to ${maximum}`,
    ]),
  }),
  number: ({ minimum, maximum }) => ({
    taken: [String(minimum), String(maximum), '0.35', '.5'].map((text) => [text, Number(text)]),
    refused: ['-0.1', '1.01', '1e-1', '.', 'x'].map((text) => [text, `must be a number from ${minimum} to ${maximum}`]),
  }),
  boolean: () => ({
    taken: [
      ['true', true],
      ['false', false],
    ],
    refused: ['yes', '1'].map((text) => [text, 'must be true or false']),
  }),
  time: () => ({
    taken: [
      ['2026-01-31T12:00:00+01:00', '2026-01-31T11:00:00.000Z'],
      ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ],
    refused: ['tomorrow', '2026-13-01', '9999-12-31T23:59:59-23:59'].map((text) => [text, 'must be a time such as']),
  }),
  list: ({ maxItems, items }) => {
    const entry = (index: number) => items.enum?.[index % items.enum.length] ?? String(index);
    const list = (count: number) => Array.from({ length: count }, (_, index) => entry(index));
    return {
      taken: [
        [entry(0), [entry(0)]],
        [list(maxItems)],
        ...(items.enum ?? ['x'.repeat(items.maxLength)]).map((text): [string, string[]] => [text, [text]]),
      ],
      refused: [
        [list(maxItems + 1), `must have at most ${maxItems} entries`],
        items.enum
          ? ['none of them', `must be one of: ${items.enum.join(', ')}`]
          : ['x'.repeat(items.maxLength + 1), `must be at most ${items.maxLength} characters`],
      ],
    };
  },
  tags: () => ({
    taken: [
      ['{"a":"x"}', { a: { in: ['x'], notIn: [] } }],
      ['{"a":{"not":"x"}}', { a: { in: [], notIn: ['x'] } }],
      [JSON.stringify({ a: 'x'.repeat(maxTagBytes - 1) }), { a: { in: ['x'.repeat(maxTagBytes - 1)], notIn: [] } }],
    ],
    refused: [
      ['a', 'must be a JSON object'],
      ['{"a":1}', 'must map each tag to a string'],
      [JSON.stringify({ a: 'x'.repeat(maxTagBytes) }), `must be at most ${maxTagBytes} bytes`],
    ],
  }),
  map: ({ maxProperties, additionalProperties }) => {
    const { maxLength } = additionalProperties as { maxLength: number };
    const map = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, 'x']));
    const long = { a: 'x'.repeat(maxLength) };
    return {
      taken: [map(1), map(maxProperties), long].map((value) => [JSON.stringify(value), value]),
      refused: [
        ['a', 'must be a JSON object'],
        ['{"a":1}', 'must map each name to exactly one string'],
        [JSON.stringify(map(maxProperties + 1)), `must have at most ${maxProperties} entries`],
        [JSON.stringify({ a: `${long.a}x` }), `must have names and values of at most ${maxLength} characters`],
      ],
    };
  },
  // A header with any other text counts as absent.
  flag: () => ({
    taken: [
      ['true', true],
      ['false', false],
      ['yes', false],
    ],
    refused: [],
  }),
  headerText: ({ maxLength }) => ({
    taken: [['text'], ['x'.repeat(maxLength)], ['', undefined]],
    refused: [['x'.repeat(maxLength + 1), `must be a single value of at most ${maxLength} characters`]],
  }),
};

/** By pattern: a changed pattern needs other texts here. */
const forms: Record<string, ReturnType<CasesOf>> = {
  [/^[1-9]\d{3}-(0[1-9]|1[0-2])$/.source]: {
    taken: [['2026-01'], ['2026-12']],
    refused: ['2026', '2026-13', '0000-01', '2026-1'].map((text) => [text, 'must be a month such as 2026-01']),
  },
  [/^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/.source]: {
    taken: [['2026-01-01'], ['2026-12-31']],
    refused: ['2026-01', '2026-01-32', '2026-1-1'].map((text) => [text, 'must be a day such as 2026-01-31']),
  },
};

/** Values at and beyond the limits of a parameter. The first one is valid. */
export function parameterCases(source: FieldSource): ParameterCase[] {
  const { parameter, required, in: place } = source;
  const schema = source.schema as unknown as ParameterSchema;
  const kind = kindOf(place, schema);
  const edges = schema.pattern === undefined ? kinds[kind]?.(schema) : forms[schema.pattern];
  if (!edges) throw new Error(`No values are known for a parameter of ${JSON.stringify(schema)}. Name some here.`);
  const first = edges.taken[0]![0];
  const refused: [Text | undefined, string][] = [...edges.refused];
  if (required && place === 'query') refused.push([undefined, 'is missing']);
  if (place === 'path') refused.push(['', kind === 'choice' ? 'must be one of' : 'must not be empty']);
  if (place === 'query' && kind !== 'list') refused.push([[first, first].flat(), 'must not be repeated']);
  if (place !== 'header')
    refused.push([
      ['tags', 'map'].includes(kind) ? '{"a":"\\u0000"}' : 'a\0b',
      'must not contain the character U+0000',
    ]);
  const empty = place === 'query' ? ['', ['', '']] : [];
  if (required) refused.push(...empty.map((text): [Text, string] => [text, 'is missing']));
  return [
    ...edges.taken.map(([text, ...read]) => ({ sent: { [parameter]: text }, value: read.length > 0 ? read[0] : text })),
    ...(required ? [] : empty.map((text) => ({ sent: { [parameter]: text }, value: undefined }))),
    ...(required || place === 'path' ? [] : [{ sent: {}, value: kind === 'flag' ? false : undefined }]),
    ...refused.map(([text, problem]) => ({ sent: text === undefined ? {} : { [parameter]: text }, problem })),
  ];
}

function kindOf(place: FieldSource['in'], schema: ParameterSchema): string {
  const { type, format, additionalProperties } = schema;
  if (place === 'header') return schema.enum ? 'flag' : 'headerText';
  if (type === 'object') return additionalProperties === true ? 'tags' : 'map';
  if (type !== 'string') return type === 'array' ? 'list' : type;
  if (schema.enum) return 'choice';
  return format === 'date-time' ? 'time' : (format ?? type);
}
