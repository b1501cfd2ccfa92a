import type { ColumnSchema } from '@parley/contracts/tables/table-schema';
import { changeSchema, createSchema, type IndexedSchema, renameColumn } from './table-schema';

type Input = Record<string, unknown>;

/** Columns of an input, without the defaults. */
function columnsOf(input: Input): Record<string, unknown> {
  const { properties } = createSchema(input).schema;
  return Object.fromEntries(Object.entries(properties).map(([name, column]) => [name, withoutDefaults(column)]));
}

function withoutDefaults({ nullable, 'x-zui': { index: _index, ...settings }, ...column }: ColumnSchema) {
  return {
    ...column,
    ...(nullable === true ? {} : { nullable }),
    ...(Object.keys(settings).length === 0 ? {} : { 'x-zui': settings }),
  };
}

const columnOf = (schema: unknown) => columnsOf({ type: 'object', properties: { a: schema } }).a;
const invalid = (message: unknown) => expect.objectContaining({ type: 'InvalidJsonSchema', message }) as unknown;

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('the form of a schema', () => {
  it('accepts a full JSON schema', () => {
    const { schema, nextIndex } = createSchema({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { name: { type: 'string' }, price: { type: 'number' } },
      required: ['name', 'gone'],
      additionalProperties: false,
    });

    expect(schema).toEqual({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        name: { type: 'string', nullable: false, 'x-zui': { index: 0 } },
        price: { type: 'number', nullable: true, 'x-zui': { index: 1 } },
      },
      additionalProperties: true,
      required: ['name'],
    });
    expect(nextIndex).toBe(2);
  });

  it.each([
    [{ properties: { name: { type: 'string' } } }],
    [{ type: 'object', properties: { name: { type: 'string' } }, 'x-zui': {} }],
    [{ name: { type: 'string' } }],
    [{ name: 'cup' }],
  ])('reads the column name from the schema %j', (input) => {
    expect(columnsOf(input)).toEqual({ name: { type: 'string' } });
  });

  it.each([[{}], [{ type: 'object' }], [{ type: 'object', properties: {}, additionalProperties: false }]])(
    'reads no column from the schema %j',
    (input) => {
      expect(columnsOf(input)).toEqual({});
    },
  );

  it.each<[Input, Input]>([
    // A column named like a keyword.
    [{ type: { type: 'string' } }, { type: { type: 'string' } }],
    [{ properties: { type: 'object' } }, { properties: { type: 'object' } }],
    [
      { type: 'object', color: 'red' },
      { type: { type: 'string' }, color: { type: 'string' } },
    ],
    [
      { type: 'chair', properties: { legs: 4 } },
      {
        type: { type: 'string' },
        properties: { type: 'object', properties: { legs: { type: 'number', nullable: true } } },
      },
    ],
    // Its `type` is not a type of JSON schema.
    [
      { shape: { type: 'circle', radius: 1 } },
      {
        shape: {
          type: 'object',
          properties: { type: { type: 'string', nullable: true }, radius: { type: 'number', nullable: true } },
        },
      },
    ],
  ])('reads the schema %j as a map or an example', (input, columns) => {
    expect(columnsOf(input)).toEqual(columns);
  });

  it('reads a schema as a map when one column is a JSON schema, so that the others have to be', () => {
    expect(thrownBy(() => createSchema({ name: { type: 'string' }, price: 3 }))).toEqual(
      invalid('schema: column price must be a JSON schema such as {"type":"string"}.'),
    );
    expect(thrownBy(() => createSchema({ name: { type: 'text' } }))).toEqual(
      invalid(expect.stringMatching(/^schema: column name must have one type of string, number/)),
    );
  });
});

describe('an example', () => {
  it('infers types of columns from an example', () => {
    const columns = columnsOf({
      text: 'cup',
      count: 3,
      sold: true,
      at: '2026-01-31T09:30:00+01:00',
      day: '2026-01-31',
      tags: ['a', 'b'],
      mixed: ['a', 1],
      empty: [],
      address: { street: 'Main', line2: null, geo: { lat: 1 } },
      people: [{ name: 'A' }, { name: 'B', age: 1 }],
    });

    expect(columns).toEqual({
      text: { type: 'string' },
      count: { type: 'number' },
      sold: { type: 'boolean' },
      at: { type: 'string', format: 'date-time' },
      day: { type: 'string' },
      tags: { type: 'array', items: { type: 'string', nullable: true } },
      mixed: { type: 'array' },
      empty: { type: 'array' },
      address: {
        type: 'object',
        properties: {
          street: { type: 'string', nullable: true },
          geo: { type: 'object', nullable: true, properties: { lat: { type: 'number', nullable: true } } },
        },
      },
      people: { type: 'array', items: { type: 'object', nullable: true } },
    });
  });

  it('accepts an example nested as deep as values may be', () => {
    let deep: Input = { end: 1 };
    for (let level = 0; level < 90; level++) deep = { deep };

    expect(columnsOf({ deep })).toMatchObject({ deep: { type: 'object' } });
  });

  it('rejects null in an example', () => {
    expect(thrownBy(() => createSchema({ name: 'cup', color: null }))).toEqual(
      invalid('schema: column color is null, so its type is unknown: give an example or a schema.'),
    );
  });
});

describe('a column', () => {
  it.each<[unknown, unknown]>([
    [{ type: 'integer' }, { type: 'number', multipleOf: 1 }],
    [
      { type: 'integer', multipleOf: 5, minimum: 0 },
      { type: 'number', multipleOf: 5, minimum: 0 },
    ],
    [{ type: ['string', 'null'] }, { type: 'string' }],
    [{ type: ['null', 'integer'] }, { type: 'number', multipleOf: 1 }],
    [{ type: ['null'] }, { type: 'null' }],
    [{ const: null }, { type: 'null' }],
    [{ anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] }, { type: 'string', minLength: 1 }],
    [{ oneOf: [{ type: 'null' }, { anyOf: [{ type: 'boolean' }] }] }, { type: 'boolean' }],
    [{ enum: ['a', 'b', 'a'] }, { type: 'string', enum: ['a', 'b'] }],
    [{ enum: ['a', null] }, { type: 'string', enum: ['a'] }],
    [{ const: 'a' }, { type: 'string', enum: ['a'] }],
    [
      { type: 'string', nullable: false },
      { type: 'string', nullable: false },
    ],
    [
      { type: 'string', format: 'date-time', description: 'd', title: 't', default: 'x', examples: ['y'] },
      { type: 'string', format: 'date-time', description: 'd', title: 't', default: 'x', examples: ['y'] },
    ],
    [
      { type: 'string', pattern: '^a', minLength: 1, maxLength: 3, minimum: 4, $comment: 'c', readOnly: true },
      { type: 'string', pattern: '^a', minLength: 1, maxLength: 3 },
    ],
    [
      { type: 'number', minimum: 1, maximum: 2, exclusiveMinimum: 0, exclusiveMaximum: 3, multipleOf: 0.5 },
      { type: 'number', minimum: 1, maximum: 2, exclusiveMinimum: 0, exclusiveMaximum: 3, multipleOf: 0.5 },
    ],
    [
      { type: 'array', items: { type: ['integer', 'null'] }, minItems: 1, maxItems: 9, uniqueItems: false },
      { type: 'array', items: { type: 'number', nullable: true, multipleOf: 1 }, minItems: 1, maxItems: 9 },
    ],
    [
      { properties: { b: { type: 'string', 'x-zui': {} } }, required: ['b'], additionalProperties: false },
      { type: 'object', properties: { b: { type: 'string' } }, required: ['b'], additionalProperties: false },
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
      { type: 'object', additionalProperties: { type: 'number', multipleOf: 1 }, minProperties: 1, maxProperties: 2 },
    ],
    [{ type: 'object', additionalProperties: {} }, { type: 'object' }],
  ])('stores the column %j as %j', (sent, stored) => {
    expect(columnOf(sent)).toEqual(stored);
  });

  it.each<[unknown, RegExp]>([
    [true, /column a must be a JSON schema/],
    [{}, /column a must have one type of string, number, boolean, object, array, null, and may be nullable/],
    [{ type: 'text' }, /column a must have one type/],
    [{ type: 1 }, /column a must have one type/],
    [{ type: [] }, /column a must have one type/],
    [{ type: ['string', 'number'] }, /column a must have one type/],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, /column a must have one type/],
    [{ anyOf: [] }, /column a must have one type/],
    [{ anyOf: [{ type: 'string' }], oneOf: [{ type: 'null' }] }, /column a must have one type/],
    [{ $ref: '#/definitions/b' }, /column a may not use \$ref/],
    [{ allOf: [{ type: 'string' }] }, /column a may not use allOf/],
    [{ type: 'object', not: {} }, /column a may not use not/],
    [{ type: 'array', uniqueItems: true }, /column a may not use uniqueItems/],
    [{ type: 'array', items: [{ type: 'string' }] }, /column a\.items must be a JSON schema/],
    [{ type: 'array', items: { type: 'array', items: {} } }, /column a\.items\.items must have one type/],
    [{ type: 'object', properties: { b: { $ref: '#' } } }, /column a\.b may not use \$ref/],
    [{ type: 'object', properties: { constructor: { type: 'string' } } }, /column a\.constructor has a reserved name/],
    [{ type: 'object', required: 'b' }, /column a\.required must be a list of names/],
    [{ type: 'object', required: ['__proto__'] }, /column a\.required must be a list of names/],
    [{ type: 'string', nullable: 1 }, /column a\.nullable must be true or false/],
    [{ type: 'string', format: 'email' }, /column a\.format must be date-time; use pattern for other formats/],
    [{ type: 'string', pattern: '(?=a)' }, /column a\.pattern must be a regular expression without look-around/],
    [{ type: 'string', pattern: 1 }, /column a\.pattern must be a string/],
    [{ enum: [] }, /column a\.enum must be a list of strings/],
    [{ enum: ['a', 1] }, /column a\.enum must be a list of strings/],
    [{ type: 'number', enum: [1] }, /column a may have an enum only when its type is string/],
    [{ type: 'boolean', const: true }, /column a may have an enum only when its type is string/],
    [{ type: 'string', minLength: -1 }, /column a\.minLength must be an integer of at least 0/],
    [{ type: 'string', maxLength: 1.5 }, /column a\.maxLength must be an integer of at least 0/],
    [{ type: 'number', exclusiveMinimum: true }, /column a\.exclusiveMinimum must be a number/],
    [{ type: 'number', multipleOf: 0 }, /column a\.multipleOf must be a number above 0/],
    [{ type: 'integer', multipleOf: 1.5 }, /column a\.multipleOf must be an integer/],
    [{ type: 'string', description: 1 }, /column a\.description must be a string/],
    [{ type: 'string', 'x-zui': 1 }, /column a\.x-zui must be an object/],
    [{ type: 'string', 'x-zui': { searchable: 1 } }, /column a\.x-zui\.searchable must be a boolean/],
  ])('rejects the column %j', (schema, message) => {
    expect(thrownBy(() => columnOf(schema))).toEqual(invalid(expect.stringMatching(message)));
  });

  it('limits the nesting of a column to a depth of 8', () => {
    const nested = (levels: number): Input => ({
      type: 'array',
      ...(levels > 0 ? { items: nested(levels - 1) } : {}),
    });

    expect(columnOf(nested(8))).toEqual(nested(8));
    expect(thrownBy(() => columnOf(nested(9)))).toEqual(
      invalid(expect.stringMatching(/is nested deeper than 8 levels/)),
    );
  });

  it('keeps settings of a column, also unknown ones, and assigns a new index', () => {
    const { schema } = createSchema({
      a: { type: 'string', 'x-zui': { index: 7, searchable: true, order: 2, width: 9, title: 'T', deep: { x: [1] } } },
    });

    expect(schema.properties.a!['x-zui']).toEqual({
      index: 0,
      searchable: true,
      order: 2,
      width: 9,
      title: 'T',
      deep: { x: [1] },
    });
  });

  it.each(['a', 'A1', '_a', '1', 'Full Name', 'naïve', '価格', 'a-b', 'a'.repeat(30), '𝔞'.repeat(30)])(
    'accepts the column name %j',
    (name) => {
      expect(Object.keys(createSchema({ [name]: { type: 'string' } }).schema.properties)).toEqual([name]);
    },
  );

  it.each([
    ...['', ' a', 'a ', 'a.b', '$a', '-a', 'a"b', "a'b", 'a\\b', 'a/b', 'a\nb', 'a\0', 'a'.repeat(31)],
    ...['id', 'createdAt', 'updatedAt', 'computed', 'stale', 'similarity', 'constructor', 'toString', '__proto__'],
  ])('rejects the column name %j', (name) => {
    const input = Object.fromEntries([[name, { type: 'string' }]]);

    expect(thrownBy(() => createSchema(input))).toEqual(
      invalid(expect.stringMatching(/^schema: column .* has a name that /)),
    );
  });

  it('makes a required column not nullable, unless it says so', () => {
    const { schema } = createSchema({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: ['string', 'null'] }, c: { type: 'string' } },
      required: ['a', 'b'],
    });

    const nullable = Object.entries(schema.properties).map(([name, column]) => [name, column.nullable]);
    expect(Object.fromEntries(nullable)).toEqual({ a: false, b: true, c: true });
    expect(schema.required).toEqual(['a', 'b']);
  });

  it.each(['a', [1], ['__proto__']])('rejects %j as required columns', (required) => {
    const input = { type: 'object', properties: { a: { type: 'string' } }, required };

    expect(thrownBy(() => createSchema(input))).toEqual(invalid('schema.required must be a list of column names.'));
  });
});

describe('a schema', () => {
  const manyColumns = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_entry, index) => [`c${index}`, { type: 'string' }]));

  it('limits a schema to 20 columns', () => {
    expect(createSchema(manyColumns(20)).nextIndex).toBe(20);
    expect(thrownBy(() => createSchema(manyColumns(21)))).toEqual(
      invalid('schema: a table has at most 20 columns, got 21.'),
    );
  });

  it('limits a schema to descriptions of 250 values', () => {
    const wide = (count: number) => ({ a: { type: 'object', properties: manyColumns(count) } });

    expect(columnsOf(wide(249))).toHaveProperty('a');
    expect(thrownBy(() => createSchema(wide(250)))).toEqual(invalid(expect.stringMatching(/are more than 250/)));
  });

  it('limits a schema to 100 kB', () => {
    const input = { a: { type: 'string', description: 'x'.repeat(100 * 1024) } };

    expect(thrownBy(() => createSchema(input))).toEqual(invalid('schema must be at most 102400 bytes of JSON.'));
  });

  it('requires a string as $schema', () => {
    const input = { $schema: 1, type: 'object', properties: {} };

    expect(thrownBy(() => createSchema(input))).toEqual(invalid('schema.$schema must be a string.'));
  });
});

describe('a computed column', () => {
  const computed = (settings: unknown) => ({ type: 'number', 'x-zui': { computed: settings } });
  const code = (...dependencies: string[]) => computed({ action: 'code', code: 'row.a', dependencies });

  it('stores a computed column with its defaults', () => {
    const columns = columnsOf({
      a: { type: 'number' },
      b: computed({ action: 'code', code: 'row.a', dependencies: ['a', 'a'], more: 1 }),
      c: computed({ action: 'ai', prompt: 'p', model: 'm', enabled: false }),
      d: computed({ action: 'workflow', workflowId: 'w' }),
      e: computed(null),
    });

    expect(columns).toMatchObject({
      b: computed({ action: 'code', dependencies: ['a'], model: 'gpt-4o', code: 'row.a' }),
      c: computed({ action: 'ai', dependencies: [], model: 'm', prompt: 'p', enabled: false }),
      d: computed({ action: 'workflow', dependencies: [], model: 'gpt-4o', workflowId: 'w' }),
      e: { type: 'number' },
    });
    expect(columns.e).not.toHaveProperty('x-zui');
  });

  it.each<[unknown, RegExp]>([
    [1, /column a\.x-zui\.computed must be an object/],
    [{}, /computed\.action must be ai, code or workflow/],
    [{ action: 'ai' }, /computed needs a prompt/],
    [{ action: 'code', code: '' }, /computed needs code/],
    [{ action: 'code', code: 'x'.repeat(20_001) }, /computed\.code must be a string of at most 20000 characters/],
    [{ action: 'ai', prompt: 1 }, /computed\.prompt must be a string of at most 10000 characters/],
    [{ action: 'workflow', workflowId: 'x'.repeat(21) }, /workflowId must be a string of at most 20 characters/],
    [{ action: 'ai', prompt: 'p', model: 'x'.repeat(81) }, /model must be a string of at most 80 characters/],
    [{ action: 'code', code: 'c', dependencies: 'a' }, /dependencies must be a list of column names/],
    [{ action: 'code', code: 'c', dependencies: ['z'] }, /column a depends on z, which is not a column/],
    [{ action: 'code', code: 'c', dependencies: ['a'] }, /column a depends on itself/],
    [{ action: 'code', code: 'c', enabled: 1 }, /computed\.enabled must be true or false/],
  ])('rejects the computed column %j', (settings, message) => {
    expect(thrownBy(() => createSchema({ a: computed(settings) }))).toEqual(invalid(expect.stringMatching(message)));
  });

  it('rejects an indirect cycle of computed columns', () => {
    const input = { a: code('b'), b: code('c'), c: code('a'), d: code('a') };

    expect(thrownBy(() => createSchema(input))).toEqual(invalid('schema: column a depends on itself.'));
  });

  it('accepts a computed column that depends on another one', () => {
    expect(createSchema({ a: { type: 'number' }, b: code('a'), c: code('a', 'b') }).nextIndex).toBe(3);
  });
});

describe('a change of a schema', () => {
  const code = (source: string, ...dependencies: string[]) => ({
    type: 'number',
    'x-zui': { computed: { action: 'code', code: source, dependencies } },
  });
  const before = createSchema({
    type: 'object',
    properties: {
      name: { type: 'string' },
      price: { type: 'number' },
      tax: code('t', 'price'),
      total: code('s', 'tax'),
      length: code('l', 'name'),
    },
    required: ['name'],
  });
  const indexesOf = ({ schema }: IndexedSchema) =>
    Object.fromEntries(Object.entries(schema.properties).map(([name, column]) => [name, column['x-zui'].index]));

  it('replaces the given columns of a schema and keeps the others', () => {
    const after = changeSchema(before, { price: { type: 'number', minimum: 0 }, color: { type: 'string' } });

    expect(indexesOf(after)).toEqual({ ...indexesOf(before), color: 5 });
    expect(after.schema.properties.price).toMatchObject({ type: 'number', minimum: 0 });
    expect(after.schema.properties.name).toEqual(before.schema.properties.name);
    expect(after).toMatchObject({ nextIndex: 6, emptied: [], staleColumns: [] });
  });

  it.each<[Input]>([
    [{ length: null, other: null }],
    [{ type: 'object', properties: { length: null } }],
    [{ length: null, color: 'red' }],
  ])('removes a column for the schema change %j', (input) => {
    const after = changeSchema(before, input);

    expect(Object.keys(after.schema.properties)).not.toContain('length');
    expect(after.emptied).toEqual(['length']);
  });

  it('does not reuse the index of a column', () => {
    const without = changeSchema(before, { length: null });

    const after = changeSchema(without, { length: { type: 'number' } });

    expect(after.schema.properties.length!['x-zui'].index).toBe(5);
    expect(after.nextIndex).toBe(6);
  });

  it('assigns a new index to a column when the type changes, and returns the stale columns', () => {
    const after = changeSchema(before, { price: { type: 'string' } });

    expect(after.schema.properties.price!['x-zui'].index).toBe(5);
    expect(after.emptied).toEqual(['price']);
    expect(after.staleColumns).toEqual(['tax', 'total']);
  });

  it.each<[Input, Input, boolean]>([
    [{ type: 'string' }, { type: 'string', format: 'date-time' }, false],
    [{ type: 'string', format: 'date-time' }, { type: 'string' }, true],
    [{ type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time', description: 'd' }, true],
    [{ type: 'integer' }, { type: 'number' }, true],
    [{ type: 'array' }, { type: 'object' }, false],
  ])('decides for a change from %j to %j whether values are kept: %j', (from, to, keeps) => {
    const after = changeSchema(createSchema({ a: from }), { a: to });

    expect(after.emptied).toEqual(keeps ? [] : ['a']);
  });

  it.each<[Input, string[]]>([
    [{ tax: code('other', 'price') }, ['tax', 'total']],
    [{ total: code('s', 'tax') }, []],
    [{ total: code('s', 'tax', 'price') }, ['total']],
    [{ fresh: code('f', 'name') }, ['fresh']],
    [{ name: { type: 'string', 'x-zui': { computed: { action: 'ai', prompt: 'p' } } } }, ['name', 'length']],
    [{ tax: { type: 'number' } }, []],
  ])('makes by the schema change %j these columns stale: %j', (input, staleColumns) => {
    expect(changeSchema(before, input).staleColumns).toEqual(staleColumns);
  });

  it('marks columns without dependencies as stale when a column that is not computed loses its values', () => {
    const all = createSchema({
      name: { type: 'string' },
      price: { type: 'number' },
      sum: code('s'),
      more: code('m', 'sum'),
    });
    const staleBy = (input: Input) => changeSchema(all, input).staleColumns;

    expect(staleBy({ price: { type: 'string' } })).toEqual(['sum', 'more']);
    expect(staleBy({ price: null })).toEqual(['sum', 'more']);
    expect(staleBy({ more: code('other', 'sum') })).toEqual(['more']);
    expect(staleBy({ color: { type: 'string' } })).toEqual([]);
  });

  it('applies required only to the columns in the same change', () => {
    const required = (input: Input) => changeSchema(before, input).schema.required;

    expect(required({ price: { type: 'number' } })).toEqual(['name']);
    expect(required({ name: { type: 'string' } })).toEqual(['name']);
    expect(required({ type: 'object', properties: { price: { type: 'number' } }, required: ['price'] })).toEqual([
      'name',
      'price',
    ]);
    expect(required({ type: 'object', properties: { name: { type: 'string' } } })).toBeUndefined();
    expect(required({ name: null, length: null })).toBeUndefined();
  });

  it('rejects removing a column that another column depends on', () => {
    expect(thrownBy(() => changeSchema(before, { price: null }))).toEqual(
      invalid('schema: column tax depends on price, which is not a column.'),
    );
    expect(changeSchema(before, { price: null, tax: null, total: null }).emptied).toEqual(['price', 'tax', 'total']);
  });

  it('accepts the change of a schema to what was read', () => {
    const after = changeSchema(before, before.schema as unknown as Input);

    expect(after).toEqual({ ...before, emptied: [], staleColumns: [] });
  });

  it('counts the existing columns in a change of a schema', () => {
    const many = Object.fromEntries(Array.from({ length: 16 }, (_entry, index) => [`c${index}`, 'x']));

    expect(thrownBy(() => changeSchema(before, many))).toEqual(invalid(expect.stringMatching(/at most 20 columns/)));
  });
});

describe('renaming a column', () => {
  const { schema } = createSchema({
    type: 'object',
    properties: {
      price: { type: 'number' },
      tax: { type: 'number', 'x-zui': { computed: { action: 'code', code: 'c', dependencies: ['price'] } } },
    },
    required: ['price'],
  });

  it('renames a column with its index and position, and updates required and dependencies', () => {
    const { properties, required } = renameColumn(schema, 'price', 'net');

    expect(Object.keys(properties)).toEqual(['net', 'tax']);
    expect(properties.net).toEqual(schema.properties.price);
    expect(properties.tax!['x-zui']).toMatchObject({ index: 1, computed: { dependencies: ['net'] } });
    expect(required).toEqual(['net']);
  });

  it('accepts the current name of a renamed column', () => {
    expect(renameColumn(schema, 'price', 'price')).toEqual(schema);
  });

  it.each([
    ['gone', 'net', 'ReferenceNotFound', 'name: the table has no column "gone".'],
    ['constructor', 'net', 'ReferenceNotFound', 'name: the table has no column "constructor".'],
    ['price', 'tax', 'AlreadyExists', 'Column "tax" already exists.'],
    ['price', 'id', 'InvalidPayload', 'newName is the name of a system field, which a column may not have.'],
    ['price', 'a.b', 'InvalidPayload', expect.stringMatching(/^newName must be 1 to 30 letters/)],
  ])('rejects the renaming of the column %s to %s', (name, newName, type, message) => {
    expect(thrownBy(() => renameColumn(schema, name, newName))).toMatchObject({ type, message });
  });
});
