import { ArrayUnique, IsArray, IsIn, IsInt, IsString, Length, Matches, Max, MaxLength, Min } from 'class-validator';
import {
  JsonObject,
  JsonObjects,
  ListOf,
  MapOf,
  Nested,
  Nullable,
  Open,
  Optional,
  problemsOf,
  toInstance,
} from './fields';
import {
  FieldProblem,
  fieldSources,
  HeaderFlag,
  PathParam,
  QueryBoolean,
  QueryChoice,
  QueryInteger,
  QueryList,
  QueryMap,
  QueryString,
  QueryTags,
  type RawQuery,
} from './query-fields';
import type { Class } from './operation';

class Leaf {
  @IsIn(['red', 'blue'])
  type!: string;

  @Optional()
  @MaxLength(5)
  note?: string;
}

class Branch {
  @Optional()
  @MapOf(Leaf)
  leaves?: Record<string, Leaf>;

  @Optional()
  @MapOf(String)
  tags?: Record<string, string>;
}

@Open()
class Basket {
  @Optional()
  @JsonObjects({ minItems: 1, maxItems: 2 })
  fruits?: Record<string, unknown>[];

  @Optional()
  @Nested(Leaf)
  leaf?: Leaf;
}

class Tree {
  @Optional()
  @MapOf(String, { maxEntries: 2, maxLength: 3, key: /^[a-z_]+$/ })
  names?: Record<string, string>;

  @Optional()
  @MapOf(Leaf, { nullable: true })
  leaves?: Record<string, Leaf | null>;

  @Optional()
  @MapOf(Boolean, { maxEntries: 2 })
  flags?: Record<string, boolean>;

  @Optional()
  @MapOf(Branch)
  branches?: Record<string, Branch>;

  @Optional()
  @Nested(Branch)
  branch?: Branch;

  @Optional()
  @ListOf(Leaf)
  list?: Leaf[];

  @Optional()
  @ListOf(Leaf, { maxItems: 2 })
  few?: Leaf[];

  @Optional()
  @JsonObject({ maxBytes: 20 })
  json?: Record<string, unknown>;

  @Optional()
  @IsInt()
  optional?: number;

  @Nullable()
  @IsInt()
  nullable?: number | null;
}

function read<T extends object>(type: Class<T>, body: unknown) {
  const value = toInstance(type, body) as T;
  return { value, problems: problemsOf(value) };
}

function problemsIn(body: unknown): string[] {
  return read(Tree, body).problems;
}

describe('a map', () => {
  it('validates each entry of a map and drops fields that its class does not declare', () => {
    const { value, problems } = read(Tree, { leaves: { a: { type: 'red', unknown: 1 }, b: null } });

    expect(problems).toEqual([]);
    expect(value.leaves!['a']).toEqual({ type: 'red' });
    expect(value.leaves!['b']).toBeNull();
  });

  it('keeps booleans of a map unchanged', () => {
    const { value, problems } = read(Tree, { flags: { a: true, b: false } });

    expect(problems).toEqual([]);
    expect({ ...value.flags }).toEqual({ a: true, b: false });
  });

  it('accepts __proto__ and other inherited names as keys of a map', () => {
    const body: unknown = JSON.parse(
      '{"leaves":{"__proto__":{"type":"red"},"constructor":{"type":"blue"},"toString":{"type":"red"}}}',
    );

    const { value, problems } = read(Tree, body);

    expect(problems).toEqual([]);
    expect(Object.getPrototypeOf(value.leaves)).toBeNull();
    expect(JSON.parse(JSON.stringify(value))).toEqual(body);
    expect(({} as Record<string, unknown>)['type']).toBeUndefined();
  });

  it('validates an entry of a map called __proto__ like any other', () => {
    const body: unknown = JSON.parse('{"leaves":{"__proto__":{"type":"green"}}}');

    expect(problemsIn(body)).toEqual([
      'leaves has an entry "__proto__" whose type must be one of the following values: red, blue',
    ]);
  });

  it('validates maps nested in entries of a map', () => {
    const body = { branches: { oak: { leaves: { one: { type: 'red', note: 'too long' } } } } };

    expect(problemsIn(body)).toEqual([
      'branches has an entry "oak" whose leaves has an entry "one" whose note must be shorter than or equal to 5 characters',
    ]);
  });

  it.each([
    ['an array', { names: [] }, 'names must be an object'],
    ['null', { names: null }, 'names must be an object'],
    ['a string', { names: 'a' }, 'names must be an object'],
    ['too many entries', { names: { a: '', b: '', c: '' } }, 'names must have at most 2 entries'],
    ['a bad name', { names: { A: '' } }, 'names has a name "A" that does not match ^[a-z_]+$'],
    ['a number', { names: { a: 1 } }, 'names has an entry "a" that must be a string'],
    ['null where none may be', { names: { a: null } }, 'names has an entry "a" that must be a string'],
    ['a long entry', { names: { a: 'abcd' } }, 'names has an entry "a" that must be at most 3 characters'],
    ['a text for a boolean', { flags: { a: true, b: 'true' } }, 'flags has an entry "b" that must be a boolean'],
    ['a string for an object', { leaves: { a: 'x' } }, 'leaves has an entry "a" that must be an object'],
    ['an array for an object', { leaves: { a: [] } }, 'leaves has an entry "a" that must be an object'],
    ['null for an object', { branches: { a: null } }, 'branches has an entry "a" that must be an object'],
  ])('rejects %s as a map and says what would be right', (_name, body, problem) => {
    expect(problemsIn(body)).toEqual([problem]);
  });

  it('truncates a long key of a map in its message', () => {
    const [problem] = problemsIn({ names: { ['X'.repeat(100_000)]: '' } });

    expect(problem!.length).toBeLessThan(200);
  });
});

describe('a field', () => {
  it('accepts an absent optional field, but not null', () => {
    expect(problemsIn({})).toEqual([]);
    expect(problemsIn({ optional: null })).toEqual(['optional must be an integer number']);
  });

  it('accepts an absent nullable field or null, but nothing else', () => {
    expect(problemsIn({ nullable: null })).toEqual([]);
    expect(problemsIn({ nullable: '1' })).toEqual(['nullable must be an integer number']);
  });

  it.each([
    ['null', null],
    ['a string', 'x'],
    ['an array', [{}]],
    ['a number', 1],
  ])('rejects %s as a field that is an object with one message', (_name, branch) => {
    expect(problemsIn({ branch })).toEqual(['branch must be an object']);
  });

  it.each([
    ['an object', {}],
    ['null', null],
    ['an array with null', [null]],
    ['an array in an array', [[{ type: 'red' }]]],
    ['an array of strings', ['red']],
  ])('rejects %s as a field that is a list of objects with one message', (_name, list) => {
    expect(problemsIn({ list })).toEqual(['list must be an array of objects']);
  });

  it('checks the length of a list before its entries', () => {
    const list = Array.from({ length: 1001 }, () => ({}));

    expect(problemsIn({ list })).toEqual(['list must have at most 1000 entries']);
    expect(problemsIn({ few: [{ type: 'red' }, { type: 'red' }] })).toEqual([]);
    expect(problemsIn({ few: [{}, {}, {}] })).toEqual(['few must have at most 2 entries']);
    expect(problemsIn({ few: [{ constructor: null }, {}, {}] })).toEqual(['few must have at most 2 entries']);
  });

  it('names a field by its path, and keeps the rest of the message unchanged', () => {
    class Inner {
      @IsIn(['a', 'be', 'must'])
      be!: string;
    }
    class Outer {
      @Nested(Inner)
      a!: Inner;
    }

    expect(read(Outer, { a: { be: 'x' } }).problems).toEqual(['a.be must be one of the following values: a, be, must']);
    expect(problemsIn({ list: [{ type: 'red' }, { type: 'x' }] })).toEqual([
      'list[1].type must be one of the following values: red, blue',
    ]);
    expect(problemsIn({ branch: { tags: { tags: 1 } } })).toEqual([
      'branch.tags has an entry "tags" that must be a string',
    ]);
  });

  it('reports an absent field as missing only, at every depth', () => {
    class Inner {
      @IsString()
      @Length(1, 5)
      name!: string;

      @IsIn(['red'])
      color!: string;

      @MapOf(String)
      tags!: Record<string, string>;
    }
    class Outer {
      @Nested(Inner)
      inner!: Inner;

      @ListOf(Inner)
      list!: Inner[];

      @MapOf(Inner)
      map!: Record<string, Inner>;
    }

    expect(read(Outer, {}).problems).toEqual(['inner is missing', 'list is missing', 'map is missing']);
    expect(read(Outer, { inner: { name: 'a' }, list: [{ color: 'red', tags: {} }], map: { a: {} } }).problems).toEqual([
      'inner.color is missing',
      'inner.tags is missing',
      'list[0].name is missing',
      'map has an entry "a" whose name is missing',
    ]);
  });

  it.each([
    [
      'the wrong type',
      { text: 1, count: '3', texts: 7 },
      ['must be a string', 'must be an integer number', 'must be an array'],
    ],
    [
      'the wrong form',
      { text: '', count: 3, texts: ['a', 'a'] },
      ['must match /^a/ regular expression', '', 'elements must be unique'],
    ],
    [
      'the wrong range',
      { text: 'aaaa', count: 4, texts: ['aaaa'] },
      ['must be shorter', 'must not be greater than 3', 'must be shorter'],
    ],
  ])('reports a field of %s for that problem only', (_what, body, wanted) => {
    class Limited {
      @Length(1, 3)
      @Matches(/^a/)
      @IsString()
      text!: string;

      @IsInt()
      @Min(1)
      @Max(3)
      count!: number;

      @IsArray()
      @ArrayUnique()
      @IsString({ each: true })
      @MaxLength(3, { each: true })
      texts!: string[];
    }

    const { problems } = read(Limited, body);

    expect(problems).toEqual(wanted.filter(Boolean).map((words) => expect.stringContaining(words)));
  });

  it('keeps a field of any JSON unchanged, limited in bytes', () => {
    const json: unknown = JSON.parse('{"__proto__":"é"}');

    expect(JSON.stringify(read(Tree, { json }).value.json)).toBe('{"__proto__":"é"}');
    expect(problemsIn({ json: { a: 'éééééé' } })).toEqual([]);
    expect(problemsIn({ json: { a: 'ééééééé' } })).toEqual(['json must be at most 20 bytes of JSON']);
    expect(problemsIn({ json: [] })).toEqual(['json must be an object']);
  });

  it('drops an undeclared field, whatever its name', () => {
    const body: unknown = JSON.parse('{"__proto__":{"optional":"x"},"constructor":{"a":1},"toString":1,"other":[1]}');

    const { value, problems } = read(Tree, body);

    expect(problems).toEqual([]);
    expect(Object.keys(value)).toEqual([]);
    expect(value.optional).toBeUndefined();
  });
});

class Parent {
  @PathParam({ maxLength: 5 })
  id!: string;
}

class Query extends Parent {
  @QueryInteger({ min: 1, max: 200 })
  limit?: number;

  @QueryBoolean()
  flag?: boolean;

  @QueryList({ maxItems: 2, maxLength: 3 })
  ids?: string[];

  @QueryChoice(['asc', 'desc'])
  sort?: string;

  @QueryString({ maxLength: 3, required: true })
  text?: string;

  @QueryTags({ maxBytes: 50 })
  tags?: unknown;

  @QueryMap({ maxEntries: 2, maxLength: 10 })
  names?: Record<string, string>;

  @HeaderFlag('x-by-alias')
  byAlias?: boolean;

  @IsString()
  body?: string;
}

function parameter(name: string, raw: RawQuery): unknown {
  return fieldSources(Query)
    .find((source) => source.name === name)!
    .read(raw);
}

describe('a parameter', () => {
  it('returns the source of each parameter, inherited from a parent class', () => {
    const places = fieldSources(Query).map((source) => [source.name, source.in]);

    expect(places).toEqual([
      ['id', 'path'],
      ...['limit', 'flag', 'ids', 'sort', 'text', 'tags', 'names'].map((name) => [name, 'query']),
      ['byAlias', 'header'],
    ]);
    expect(fieldSources(Parent)).toHaveLength(1);
  });

  it.each([
    [{ 'x-by-alias': 'true' }, true],
    [{ 'x-by-alias': 'false' }, false],
    [{ byAlias: 'true' }, false],
    [{}, false],
  ])('reads a flag in a header from %j as %s', (headers: RawQuery, value) => {
    expect(parameter('byAlias', headers)).toBe(value);
  });

  it.each([
    ['limit', '1', 1],
    ['limit', '200', 200],
    ['flag', 'true', true],
    ['flag', 'false', false],
    ['ids', 'a', ['a']],
    ['ids', ['a', 'b'], ['a', 'b']],
    ['sort', 'asc', 'asc'],
    ['text', '', ''],
    ['id', 'a/b', 'a/b'],
  ])('reads %s=%j as %j', (name, text, value) => {
    expect(parameter(name, { [name]: text })).toEqual(value);
  });

  it.each(['limit', 'flag', 'ids', 'sort', 'tags', 'names'])('accepts a request without %s', (name) => {
    expect(parameter(name, {})).toBeUndefined();
  });

  const integer = 'limit must be an integer from 1 to 200';
  it.each<[string, string | string[], string]>([
    ...['0', '201', '-1', 'abc', '1e3', ' 5', '5 ', '', '1.5', '0x10', '9'.repeat(400)].map(
      (text): [string, string, string] => ['limit', text, integer],
    ),
    ['limit', ['1', '2'], 'limit must not be repeated'],
    ...['True', '1', '', 'yes', 'null'].map((text): [string, string, string] => [
      'flag',
      text,
      'flag must be true or false',
    ]),
    ['flag', ['true', 'true'], 'flag must not be repeated'],
    ['ids', ['a', 'b', 'c'], 'ids must have at most 2 entries'],
    ['ids', ['a', 'abcd'], 'each ids must be at most 3 characters'],
    ['sort', 'up', 'sort must be one of: asc, desc'],
    ['sort', 'constructor', 'sort must be one of: asc, desc'],
    ['text', 'abcd', 'text must be at most 3 characters'],
    ['text', 'a\0', 'text must not contain the character U+0000'],
    ['id', '', 'id must not be empty'],
    ['id', 'abcdef', 'id must be at most 5 characters'],
    ['id', '\0', 'id must not contain the character U+0000'],
  ])('refuses %s=%j: %3$s', (name, text, problem) => {
    expect(() => parameter(name, { [name]: text })).toThrow(new FieldProblem(problem));
  });

  it('reports a required parameter as missing when it is absent', () => {
    expect(() => parameter('text', {})).toThrow(new FieldProblem('text is missing'));
  });
});

describe('a tag filter', () => {
  const tags = (raw: RawQuery) => parameter('tags', raw) as Record<string, { in: string[]; notIn: string[] }>;

  it.each<[string, RawQuery]>([
    ['parameters', { 'tags.color': ['red', 'blue'], 'tags.kind.not': 'draft', 'tags.age.not': ['1', '2'], limit: '1' }],
    ['JSON', { tags: '{"color":["red","blue"],"kind":{"not":"draft"},"age":{"not":["1","2"]}}' }],
    ['both', { 'tags.color': ['red', 'blue'], tags: '{"kind":{"not":"draft"},"age":{"not":["1","2"]}}' }],
  ])('reads a tag filter from %s', (_name, raw) => {
    expect({ ...tags(raw) }).toEqual({
      color: { in: ['red', 'blue'], notIn: [] },
      kind: { in: [], notIn: ['draft'] },
      age: { in: [], notIn: ['1', '2'] },
    });
  });

  it('combines included and excluded values of one tag in a filter', () => {
    expect({ ...tags({ 'tags.a': 'x', 'tags.a.not': 'y', tags: '{"a":"z"}' }) }).toEqual({
      a: { in: ['z', 'x'], notIn: ['y'] },
    });
  });

  it('accepts a dot as part of a tag name in a filter', () => {
    expect({ ...tags({ 'tags.chat.id': '1', 'tags.a.b.not': '2' }) }).toEqual({
      'chat.id': { in: ['1'], notIn: [] },
      'a.b': { in: [], notIn: ['2'] },
    });
  });

  it('accepts __proto__ and other inherited names as tags in a filter', () => {
    const filter = tags({ 'tags.__proto__': 'x', 'tags.constructor': 'y', tags: '{"toString":"z"}' });

    expect(Object.getPrototypeOf(filter)).toBeNull();
    expect(Object.keys(filter).sort()).toEqual(['__proto__', 'constructor', 'toString']);
    expect(({} as Record<string, unknown>)['in']).toBeUndefined();
  });

  it.each<[string, RawQuery]>([
    ['an empty object', { tags: '{}' }],
    ['other parameters only', { tagsx: '1', 'xtags.a': '1' }],
  ])('returns no tag filter without a condition: %s', (_name, raw) => {
    expect(tags(raw)).toBeUndefined();
  });

  const shape = 'tags must map each tag to a string, a list of strings, or {"not": …}';
  it.each<[string, RawQuery, string]>([
    ['a number', { tags: '{"a":1}' }, shape],
    ['null', { tags: '{"a":null}' }, shape],
    ['an empty list', { tags: '{"a":[]}' }, shape],
    ['a list of lists', { tags: '{"a":[["b"]]}' }, shape],
    ['an object without not', { tags: '{"a":{"is":"b"}}' }, shape],
    ['not with a number', { tags: '{"a":{"not":1}}' }, shape],
    ['a tag without a name', { 'tags.': 'x' }, shape],
    ['an excluded tag without a name', { 'tags..not': 'x' }, shape],
    ['an array', { tags: '[]' }, 'tags must be a JSON object'],
    ['no JSON', { tags: '{' }, 'tags must be a JSON object, or be given as tags.<tag>=<value>'],
    ['nothing', { tags: '' }, 'tags must be a JSON object, or be given as tags.<tag>=<value>'],
    ['two objects', { tags: ['{}', '{}'] }, 'tags must not be repeated'],
    ['too much', { 'tags.a': 'x'.repeat(50) }, 'tags must be at most 50 bytes'],
    ['U+0000 in a name', { 'tags.\0': 'x' }, 'tags must not contain the character U+0000'],
    ['U+0000 in a value', { tags: '{"a":"\\u0000"}' }, 'tags must not contain the character U+0000'],
  ])('rejects a tag filter with %s', (_name, raw, problem) => {
    expect(() => tags(raw)).toThrow(new FieldProblem(problem));
  });
});

describe('a map of strings in the query', () => {
  const names = (raw: RawQuery) => parameter('names', raw) as Record<string, string> | undefined;

  it.each<[string, RawQuery]>([
    ['parameters', { 'names.a': 'x', 'names.b.c': 'y', limit: '1' }],
    ['JSON', { names: '{"a":"x","b.c":"y"}' }],
    ['both', { 'names.a': 'x', names: '{"b.c":"y"}' }],
  ])('reads a map of strings in the query from %s', (_form, raw) => {
    expect({ ...names(raw) }).toEqual({ a: 'x', 'b.c': 'y' });
  });

  it('accepts __proto__ and other inherited names as keys in the query', () => {
    const map = names({ 'names.__proto__': 'x', names: '{"toString":"y"}' });

    expect(Object.entries(map!)).toEqual([
      ['toString', 'y'],
      ['__proto__', 'x'],
    ]);
    expect(Object.getPrototypeOf(map)).toBeNull();
  });

  it.each<[string, RawQuery]>([
    ['an empty object', { names: '{}' }],
    ['other parameters only', { namesx: '1', 'xnames.a': '1' }],
  ])('returns no map of strings for %s', (_name, raw) => {
    expect(names(raw)).toBeUndefined();
  });

  const shape = 'names must map each name to exactly one string';
  it.each<[string, RawQuery, string]>([
    ['a number', { names: '{"a":1}' }, shape],
    ['an object', { names: '{"a":{}}' }, shape],
    ['a name given twice', { 'names.a': ['x', 'y'] }, shape],
    ['a name given in both forms', { 'names.a': 'x', names: '{"a":"x"}' }, shape],
    ['no name', { 'names.': 'x' }, shape],
    ['an array', { names: '[]' }, 'names must be a JSON object'],
    ['no JSON', { names: 'a' }, 'names must be a JSON object, or be given as names.<name>=<value>'],
    ['two objects', { names: ['{}', '{}'] }, 'names must not be repeated'],
    ['too many', { 'names.a': '1', 'names.b': '2', 'names.c': '3' }, 'names must have at most 2 entries'],
    ['a long value', { 'names.a': 'x'.repeat(11) }, 'names must have names and values of at most 10 characters'],
    ['a long name', { ['names.' + 'x'.repeat(11)]: '' }, 'names must have names and values of at most 10 characters'],
    ['U+0000', { names: '{"a":"\\u0000"}' }, 'names must not contain the character U+0000'],
  ])('refuses %s as a map of strings in the query', (_name, raw, problem) => {
    expect(() => names(raw)).toThrow(new FieldProblem(problem));
  });
});

describe('an open class', () => {
  it('keeps undeclared fields of an open class, whatever their name, and reads the declared ones', () => {
    const body: unknown = JSON.parse('{"leaf":{"type":"red","x":1},"handle":[1],"__proto__":{"a":1}}');

    const value = toInstance(Basket, body) as Basket;

    expect(value).toBeInstanceOf(Basket);
    expect(JSON.stringify(value)).toBe('{"leaf":{"type":"red"},"handle":[1],"__proto__":{"a":1}}');
  });
});

describe('an array of unvalidated objects', () => {
  it.each([
    ['as many as it may have', [{ a: 1 }, {}], []],
    ['too few', [], ['fruits must have 1 to 2 entries']],
    ['too many', [{}, {}, {}], ['fruits must have 1 to 2 entries']],
    ['something else among them', [{}, []], ['fruits must be an array of objects']],
    ['no array', {}, ['fruits must be an array of objects']],
  ])('accepts or rejects %s as an array of unvalidated objects', (_what, fruits, problems) => {
    expect(problemsOf(toInstance(Basket, { fruits }) as object)).toEqual(problems);
  });
});
