import { CompiledSchemas } from './compiled-schemas';
import { openSchema } from './open-schema';

type Schema = Record<string, unknown>;
const compiled = new CompiledSchemas(1_000_000);
const problemOf = (schema: Schema, value: unknown) => compiled.get(schema)(value, 'input');

/** As schema libraries write a plain object. */
const closed = (properties: Schema, required = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const text = { type: 'string' };
const a = closed({ a: text });
const ab = closed({ a: text, b: text });
const cat = closed({ kind: { const: 'cat' }, lives: { type: 'integer' } });
const dog = closed({ kind: { const: 'dog' } });

describe('a schema of a closed object', () => {
  it.each<[string, Schema, unknown]>([
    ['an object', a, { a: 'x', z: 1 }],
    ['an object without known keys', { additionalProperties: false }, { z: 1 }],
    ['unevaluatedProperties', { ...a, additionalProperties: true, unevaluatedProperties: false }, { a: 'x', z: 1 }],
    ['a property', closed({ inner: a }), { inner: { a: 'x', z: 1 } }],
    ['items', { type: 'array', items: a }, [{ a: 'x', z: 1 }]],
    [
      'a tuple',
      { items: [a], additionalItems: a },
      [
        { a: 'x', z: 1 },
        { a: 'x', z: 1 },
      ],
    ],
    ['entries of a map', { additionalProperties: a }, { any: { a: 'x', z: 1 } }],
    [
      'pattern properties',
      { patternProperties: { '^n': a }, additionalProperties: false },
      { n: { a: 'x', z: 1 }, z: 1 },
    ],
    ['allOf', { allOf: [a, closed({ b: text })] }, { a: 'x', b: 'y', z: 1 }],
    ['anyOf', { anyOf: [cat, dog] }, { kind: 'dog', lives: 'none', z: 1 }],
    ['oneOf', { oneOf: [cat, dog] }, { kind: 'cat', lives: 9, z: 1 }],
    ['oneOf whose schemas all fit when unknown keys are dropped', { oneOf: [a, ab] }, { a: 'x', b: 'y', z: 1 }],
    ['oneOf in oneOf', { oneOf: [{ oneOf: [cat, dog] }, a] }, { kind: 'cat', lives: 9, z: 1 }],
    ['then', { if: { required: ['a'] }, then: a }, { a: 'x', z: 1 }],
    ['else', { if: { required: ['b'] }, else: a }, { a: 'x', z: 1 }],
    ['a dependency', { dependencies: { a } }, { a: 'x', z: 1 }],
    ['a definition', { $ref: '#/definitions/a', definitions: { a } }, { a: 'x', z: 1 }],
    [
      'a reference into oneOf',
      { ...closed({ first: { oneOf: [a, cat] }, second: { $ref: '#/properties/first/oneOf/0' } }) },
      { first: { a: 'x' }, second: { a: 'y', z: 1 } },
    ],
    ['a recursive reference', { ...closed({ next: { $ref: '#' } }, []) }, { next: { next: { z: 1 } } }],
  ])('accepts unknown keys in %s', (_place, schema, value) => {
    expect(problemOf(schema, value)).toBeUndefined();
  });

  it.each<[string, Schema, unknown, string]>([
    ['required', a, { z: 1 }, "input must have required property 'a'"],
    ['types', a, { a: 1, z: 1 }, 'input.a must be string'],
    ['patterns', closed({ a: { pattern: '^y' } }), { a: 'x', z: 1 }, 'input.a must match pattern "^y"'],
    ['a schema as value', { ...a, additionalProperties: text }, { a: 'x', z: 1 }, 'input.z must be string'],
    ['anyOf', { anyOf: [cat, dog] }, { kind: 'cow', z: 1 }, "input must have required property 'lives'"],
    ['oneOf', { oneOf: [dog, cat] }, { kind: 'cow', z: 1 }, 'input.kind must be equal to constant'],
    [
      'oneOf of which two fit as written',
      { oneOf: [a, a] },
      { a: 'x' },
      'input must match exactly one schema in oneOf',
    ],
    [
      'propertyNames',
      { propertyNames: { maxLength: 2 }, additionalProperties: false },
      { long: 1 },
      'input must NOT have more than 2 characters',
    ],
    [
      'maxProperties',
      { maxProperties: 1, additionalProperties: false },
      { a: 1, b: 1 },
      'input must NOT have more than 1 properties',
    ],
  ])('holds the rule of %s', (_rule, schema, value, problem) => {
    expect(problemOf(schema, value)).toBe(problem);
  });

  it.each<[string, Schema, unknown, unknown]>([
    ['oneOf', { oneOf: [a, ab] }, { a: 'x', b: 'y' }, undefined],
    ['not', { not: a }, { a: 'x', z: 1 }, { a: 'x' }],
    [
      'not with a reference',
      { not: { $ref: '#/definitions/a' }, definitions: { a, b: a } },
      { a: 'x', z: 1 },
      { a: 'x' },
    ],
    ['if', { if: a, then: false }, { a: 'x', z: 1 }, { a: 'x' }],
    [
      'if with a reference to a nested one',
      {
        if: { $ref: '#/definitions/c' },
        then: false,
        definitions: { a, c: closed({ in: { $ref: '#/definitions/a' } }) },
      },
      { in: { a: 'x', z: 1 } },
      { in: { a: 'x' } },
    ],
  ])('chooses by unknown keys in %s', (_place, schema, fits, doesNotFit) => {
    expect(problemOf(schema, fits)).toBeUndefined();
    if (doesNotFit !== undefined) expect(problemOf(schema, doesNotFit)).toBeDefined();
  });

  it('does not repeat nested choices without closed objects for each level', () => {
    const nested = (levels: number): Schema =>
      levels === 0 ? text : { oneOf: [nested(levels - 1), { type: 'null' }] };

    expect(JSON.stringify(openSchema({ anyOf: [nested(20), a] })).length).toBeLessThan(2_000);
  });

  it('changes neither the value nor the schema', () => {
    const [schema, value] = [closed({ a, list: { oneOf: [a, ab] } }), { a: { a: 'x', z: 1 }, list: { a: 'x' }, z: 1 }];
    const before = structuredClone([schema, value]);

    problemOf(schema, value);

    expect([schema, value]).toEqual(before);
  });
});
