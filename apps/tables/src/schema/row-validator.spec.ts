import { Pattern } from './pattern';
import { RowValidator } from './row-validator';
import { createSchema } from './table-schema';

type Row = Record<string, unknown>;

/** Validator of table number 36, whose column keys are `10.0`, `10.1` and so on. */
function validatorOf(schema: Row, factor = 1): RowValidator {
  return new RowValidator({ number: '36', schema: createSchema(schema).schema, factor });
}

const oneColumn = (column: unknown) => validatorOf({ type: 'object', properties: { a: column } });
const json = expect.any(String) as string;
const sizeBytes = expect.any(Number) as number;
const fromJson = (text: string) => JSON.parse(text) as Row;

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('a new row', () => {
  it('stores a new row by column key, without null and absent values', () => {
    const validator = validatorOf({ name: 'cup', price: 3, color: 'red', size: 1 });

    expect(validator.checkNew({ price: 3.5, name: 'cup', color: null })).toEqual({
      data: { '10.0': 'cup', '10.1': 3.5 },
      json: '{"10.1":3.5,"10.0":"cup"}',
      sizeBytes: 25,
      warnings: [],
    });
    expect(validator.checkNew({})).toEqual({ data: {}, json: '{}', sizeBytes: 2, warnings: [] });
  });

  it.each<[unknown, unknown]>([
    [{ type: 'string' }, ''],
    [{ type: 'number' }, -1.5e300],
    [{ type: 'boolean' }, false],
    [{ type: 'object' }, { any: [1, { b: null }] }],
    [
      { type: 'object', properties: { b: { type: ['string', 'null'] } } },
      { b: null, c: 1 },
    ],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, { b: 1 }],
    [{ type: 'array' }, [1, 'a', null]],
    [{ type: 'array' }, nested(20)],
    [{ type: 'array', items: { enum: ['a', null] } }, ['a', null]],
    [{ type: 'integer' }, 7],
    [{ type: 'number', multipleOf: 0.01 }, 0.07],
    [{ type: 'string', pattern: '^\\d+$' }, '123'],
    [{ enum: ['a', 'b'] }, 'b'],
    [{ type: 'string', maxLength: 2 }, '🦜🦜'],
  ])('accepts in a column %j the value %j', (column, value) => {
    expect(oneColumn(column).checkNew({ a: value })).toEqual({
      data: { '10.0': value },
      json,
      sizeBytes,
      warnings: [],
    });
  });

  it.each<[unknown, unknown, string]>([
    [{ type: 'string' }, 1, 'a must be string'],
    [{ type: 'number' }, '1', 'a must be number'],
    [{ type: 'number' }, Infinity, 'a contains a number that is too large'],
    [{ type: 'object' }, fromJson('{"b":[1,-1e400]}'), 'a contains a number that is too large'],
    [{ type: 'array' }, nested(21), 'a is nested more than 20 levels deep'],
    [{ type: 'boolean' }, 1, 'a must be boolean'],
    [{ type: 'object' }, [], 'a must be object'],
    [{ type: 'array' }, {}, 'a must be array'],
    [{ type: 'null' }, 1, 'a must be null'],
    [{ type: 'integer' }, 1.5, 'a must be integer'],
    [{ type: 'number', multipleOf: 0.01 }, 0.075, 'a must be multiple of 0.01'],
    [{ type: 'number', minimum: 2 }, 1, 'a must be >= 2'],
    [{ type: 'number', exclusiveMaximum: 2 }, 2, 'a must be < 2'],
    [{ type: 'string', maxLength: 2 }, 'abc', 'a must NOT have more than 2 characters'],
    [{ type: 'string', pattern: '^\\d+$' }, 'x1', 'a must match pattern "^\\d+$"'],
    [{ enum: ['a', 'b'] }, 'c', 'a must be equal to one of the allowed values: ["a","b",null]'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'a must NOT have more than 1 items'],
    [{ type: 'array', items: { type: 'string' } }, ['x', 1], 'a.1 must be string'],
    [{ type: 'array', items: { type: 'string' } }, [null], 'a.0 must be string'],
    [{ type: 'object', properties: { 'b/~"c': { type: 'string' } } }, { 'b/~"c': 1 }, 'a.b/~\\"c must be string'],
    [{ type: 'object', required: ['b'] }, {}, "a must have required property 'b'"],
    [{ type: 'object', additionalProperties: false }, { b: 1 }, 'a must NOT have additional properties: "b"'],
    [
      { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } },
      { at: 'x' },
      'a.at must match format "date-time"',
    ],
    [{ type: 'string', nullable: false }, null, 'a may not be null'],
  ])('rejects in a column %j the value %j', (column, value, problem) => {
    expect(oneColumn(column).checkNew({ a: value })).toBe(problem);
  });

  it('stores date-times of a new row in UTC', () => {
    const validator = oneColumn({ type: 'string', format: 'date-time' });

    expect(validator.checkNew({ a: '2026-01-31T09:30:00+01:00' })).toMatchObject({
      data: { '10.0': '2026-01-31T08:30:00.000Z' },
    });
    for (const value of ['2026-01-31', 1, {}])
      expect(validator.checkNew({ a: value })).toBe('a must be an ISO 8601 date-time such as 2026-01-31T09:30:00.000Z');
  });

  it('rejects deep nesting in a new row', () => {
    expect(oneColumn({ type: 'array' }).checkNew({ a: nested(50_000) })).toBe('a is nested more than 20 levels deep');
  });

  it('replaces characters of a new row that Postgres cannot store', () => {
    const validator = validatorOf({ a: { type: 'string', pattern: '^[^\\u0000]*$' }, b: { type: 'object' } });

    expect(validator.checkNew({ a: 'cup\0', b: { 'n\ud83d': ['🦜', 'x\udc00'] } })).toMatchObject({
      data: { '10.0': 'cup\ufffd', '10.1': { 'n\ufffd': ['🦜', 'x\ufffd'] } },
    });
    expect(validator.checkChange({ a: '\ud83d' })).toMatchObject({ data: { '10.0': '\ufffd' } });
  });

  it('requires the required columns of a new row', () => {
    const validator = validatorOf({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: ['string', 'null'] } },
      required: ['a', 'b'],
    });

    expect(validator.checkNew({ a: 'x', b: null })).toEqual({ data: { '10.0': 'x' }, json, sizeBytes, warnings: [] });
    expect(validator.checkNew({ b: 'x' })).toBe('a is required');
    expect(validator.checkNew({ a: null, b: 'x' })).toBe('a may not be null');
    expect(validator.checkNew({ a: 'x' })).toBe('b is required');
  });

  it('drops unknown columns of a new row with a warning', () => {
    const validator = oneColumn({ type: 'string' });
    const warningsOf = (row: Row) => {
      const checked = validator.checkNew(row);
      return typeof checked === 'string' ? checked : checked.warnings;
    };

    expect(validator.checkNew({ a: 'x', colour: 1 })).toEqual({
      data: { '10.0': 'x' },
      json,
      sizeBytes,
      warnings: ['colour is not a column of this table and was ignored'],
    });
    expect(warningsOf({ b: 1, c: 1 })).toEqual(['b and c are not columns of this table and were ignored']);
    expect(warningsOf(Object.fromEntries(Array.from({ length: 1000 }, (_entry, index) => [`c${index}`, 1])))).toEqual([
      'c0, c1, c2, c3, c4 and 995 more are not columns of this table and were ignored',
    ]);
    expect(warningsOf({ ['x'.repeat(500)]: 1 })[0]!.length).toBeLessThan(200);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'drops %s of a new row like any other unknown name',
    (name) => {
      const validator = validatorOf({ a: { type: 'object' } });

      const checked = validator.checkNew(fromJson(`{"a":{},"${name}":{"a":1}}`));

      expect(checked).toEqual({
        data: { '10.0': {} },
        json,
        sizeBytes,
        warnings: [`${name} is not a column of this table and was ignored`],
      });
      expect(({} as Row).a).toBeUndefined();
    },
  );

  it('keeps any name inside of a value of a row', () => {
    const checked = oneColumn({ type: 'object' }).checkNew(fromJson('{"a":{"__proto__":1,"constructor":2}}'));

    expect(checked).toHaveProperty('sizeBytes', '{"10.0":{"__proto__":1,"constructor":2}}'.length);
    expect(JSON.stringify(checked)).toContain('"data":{"10.0":{"__proto__":1,"constructor":2}}');
  });

  it.each(['id', 'createdAt', 'updatedAt', 'computed', 'stale', 'similarity'])(
    'refuses a new row that sets %s',
    (name) => {
      expect(oneColumn({ type: 'string' }).checkNew({ a: 'x', [name]: 1 })).toBe(
        `${name} is set by the platform and must be left out`,
      );
    },
  );

  it.each([1, 3])('accepts a row of 4096 bytes of JSON times a factor of %d', (factor) => {
    const validator = validatorOf({ a: { type: 'string' } }, factor);
    const around = '{"10.0":""}'.length;

    expect(validator.checkNew({ a: 'é'.repeat((4096 * factor - around - 1) / 2) })).toHaveProperty('data');
    expect(validator.checkNew({ a: 'x'.repeat(4096 * factor - around + 1) })).toBe(
      `it must be at most ${4096 * factor} bytes of JSON, got ${4096 * factor + 1}`,
    );
  });

  it('limits the length of a text to what its pattern can test quickly', () => {
    const validator = validatorOf({ a: { type: 'string', pattern: '^([ab]*a[ab]{400})*$' } }, 30);

    expect(validator.checkNew({ a: 'ab'.repeat(50_000) })).toMatch(/^a must NOT have more than \d+ characters$/);
  });

  it('rejects a new row that is too large before validation', () => {
    const slow = oneColumn({ type: 'array', items: { type: 'string', pattern: '^([ab]*a[ab]{400})*$' } });
    const test = jest.spyOn(Pattern.prototype, 'test');

    expect(slow.checkNew({ a: Array(20_000).fill('ab'.repeat(500)) })).toMatch(/^it must be at most 4096 bytes/);
    expect(slow.checkChange({ a: Array(20_000).fill('ab'.repeat(500)) })).toMatch(/^it must be at most 4096 bytes/);

    expect(test).not.toHaveBeenCalled();
    test.mockRestore();
  });

  it('does not run text of a schema as code', () => {
    const evil = '\'"`${globalThis.harmed=1}\\u0027];globalThis.harmed=1;//*/\u2028';
    const validator = oneColumn({
      type: 'object',
      description: evil,
      properties: {
        [evil]: { type: 'string', enum: [evil], pattern: '^[\'"`;/*\\u2028]', title: evil, default: evil },
      },
      required: [evil],
    });

    expect(validator.checkNew({ a: { [evil]: 'x' } })).toMatch(/must be equal to one of the allowed values/);
    expect(validator.checkNew({ a: { [evil]: evil } })).toHaveProperty('data');
    expect(globalThis).not.toHaveProperty('harmed');
  });
});

describe('a change of a row', () => {
  const validator = validatorOf({
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'number' } },
    required: ['a'],
  });

  it('stores null for a removed value, and does not require columns in a change of a row', () => {
    expect(validator.checkChange({ b: null })).toEqual({ data: { '10.1': null }, json, sizeBytes, warnings: [] });
    expect(validator.checkChange({ a: null })).toBe('a may not be null');
    expect(validator.checkChange({ b: 'x' })).toBe('b must be number');
  });

  it('drops system fields of a changed row with a warning, and id without one', () => {
    expect(validator.checkChange({ id: 1, b: 2, createdAt: 'x' })).toEqual({
      data: { '10.1': 2 },
      json,
      sizeBytes,
      warnings: ['createdAt is set by the platform and was ignored'],
    });
    expect(validator.checkChange({ id: 1, b: 2, computed: {}, stale: [], c: 1 })).toEqual({
      data: { '10.1': 2 },
      json,
      sizeBytes,
      warnings: [
        'computed and stale are set by the platform and were ignored',
        'c is not a column of this table and was ignored',
      ],
    });
    expect(validator.checkChange({ id: 1, b: 2 })).toEqual({ data: { '10.1': 2 }, json, sizeBytes, warnings: [] });
  });
});
