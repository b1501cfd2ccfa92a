import { isQuick } from './quick-schema';

const state = { type: 'object', properties: { id: { type: 'string' }, format: { enum: ['a'] }, pattern: {} } };
const wide = (length: number) => ({ enum: Array<number>(length).fill(1) });

function nested(levels: number): Record<string, unknown> {
  return levels === 0 ? {} : { items: nested(levels - 1) };
}

describe('a check', () => {
  it.each([
    ['a common schema', state, {}],
    ['a schema in lists', { allOf: [{ items: [state] }, { anyOf: [{ not: state }] }] }, {}],
    ['a large value', state, { id: 'x'.repeat(100_000) }],
  ])('needs no child process to check %s', (_what, schema, value) => {
    expect(isQuick({ schema, value, path: 'it' })).toBe(true);
  });

  it.each<[string, Record<string, unknown>, unknown]>([
    ['a pattern', { properties: { a: { pattern: '^(a+)+$' } } }, {}],
    ['a pattern in a list of schemas', { items: { anyOf: [{ not: { pattern: '^(a+)+$' } }] } }, {}],
    ['a pattern in tuples', { items: [{}, { pattern: '^(a+)+$' }] }, {}],
    ['a pattern for names', { propertyNames: { pattern: '^(a+)+$' } }, {}],
    ['a pattern of a dependency', { dependencies: { a: { pattern: '^(a+)+$' } } }, {}],
    ['patterns of names', { patternProperties: { '^(a+)+$': {} } }, {}],
    ['a format', { additionalProperties: { format: 'uri' } }, {}],
    ['a reference', { $ref: '#' }, {}],
    ['unique items', { items: { uniqueItems: true } }, {}],
    ['a large schema', wide(1_000), {}],
    ['a schema with many parts', nested(100), {}],
    ['a schema in a list of many parts', { allOf: Array.from({ length: 100 }, () => ({})) }, {}],
    ['a value with many entries', {}, Array.from({ length: 10_000 }, () => 1)],
    ['a very large value', {}, 'x'.repeat(300_000)],
    ['a schema and a value that are large together', wide(900), { a: 'x'.repeat(20_000) }],
  ])('needs a child process to check %s', (_what, schema, value) => {
    expect(isQuick({ schema, value, path: 'it' })).toBe(false);
  });
});
