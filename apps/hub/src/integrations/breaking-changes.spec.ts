import type { IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import { breakingChanges } from './breaking-changes';
import { emptyDefinition } from './definition';

type Schema = Record<string, unknown>;

function object(properties: Record<string, Schema>, required: string[] = []): Schema {
  return { type: 'object', properties, required };
}

const text = { type: 'string' };
const number = { type: 'number' };
const entity = object({ a: text });

function definition(input: Schema = object({ a: text }), output: Schema = object({ a: text })): IntegrationDefinition {
  return {
    ...emptyDefinition,
    configuration: { identifier: { required: false }, schema: input },
    configurations: { manual: { identifier: { required: false }, schema: input } },
    actions: { brew: { input: { schema: input }, output: { schema: output } } },
    events: { boiled: { schema: output } },
    entities: { cup: { schema: output } },
    states: { stock: { type: 'user', schema: entity } },
    channels: { counter: { ...counter, messages: { text: { schema: input } } } },
  };
}

const counter = {
  messages: {},
  conversation: { tags: {}, creation: { enabled: false, requiredTags: [] } },
  message: { tags: {} },
};

describe('removing', () => {
  it.each([
    [{ actions: {} }, ['action "brew" is removed']],
    [{ events: {} }, ['event "boiled" is removed']],
    [{ entities: {} }, ['entity "cup" is removed']],
    [{ states: {} }, ['state "stock" is removed']],
    [{ configurations: {} }, ['configuration "manual" is removed']],
    [{ channels: {} }, ['channel "counter" is removed']],
    [{ channels: { counter } }, ['channel "counter": message "text" is removed']],
    [{ actions: {}, events: {} }, ['action "brew" is removed', 'event "boiled" is removed']],
    [{ user: { tags: { more: {} }, creation: { enabled: true, requiredTags: [] } } }, []],
  ])('reports for removal down to %j the breaking changes %j', (change, problems) => {
    expect(breakingChanges(definition(), { ...definition(), ...change })).toEqual(problems);
  });
});

describe('schemas of values that bots send', () => {
  const places = [
    'configuration',
    'configuration "manual"',
    'input of action "brew"',
    'channel "counter": message "text"',
  ];

  it.each([
    ['a required property more', object({ a: text, b: text }, ['b']), 'property "b" is required now'],
    ['a property that becomes required', object({ a: text }, ['a']), 'property "a" is required now'],
    ['another type', object({ a: number }), 'property "a" has another type'],
    ['an optional property more', object({ a: text, b: text }), undefined],
    ['a property less', object({}), undefined],
    ['a type more', object({ a: { type: ['string', 'null'] } }), undefined],
    ['any type', object({ a: {} }), undefined],
  ])('checks schemas of values that bots send for %s', (_name, input, problem) => {
    const problems = breakingChanges(definition(), definition(input));

    expect(problems.sort()).toEqual(problem ? places.map((place) => `${place}: ${problem}`).sort() : []);
  });

  it('checks schemas of values that bots send inside of objects and lists', () => {
    const nested = (inner: Schema) => object({ list: { type: 'array', items: object({ o: inner }) } });

    const problems = breakingChanges(definition(nested(object({}))), definition(nested(object({ b: text }, ['b']))));

    expect(problems).toContain('input of action "brew", in "list", in "o": property "b" is required now');
  });
});

describe('schemas of values that bots receive', () => {
  const places = ['output of action "brew"', 'event "boiled"', 'entity "cup"'];

  it.each([
    ['a property less', object({}), 'property "a" is removed'],
    ['another type', object({ a: number }), 'property "a" has another type'],
    ['a type more', object({ a: { type: ['string', 'null'] } }), 'property "a" has another type'],
    ['any type', object({ a: {} }), 'property "a" has another type'],
    ['a property more', object({ a: text, b: text }), undefined],
    ['a required property more', object({ a: text, b: text }, ['b']), undefined],
  ])('checks schemas of values that bots receive for %s', (_name, output, problem) => {
    const problems = breakingChanges(definition(), definition(undefined, output));

    expect(problems.sort()).toEqual(problem ? places.map((place) => `${place}: ${problem}`).sort() : []);
  });

  it('accepts a change of a received value from number to integer, but not from integer to number', () => {
    const [integer, decimal] = [object({ a: { type: 'integer' } }), object({ a: number })];

    expect(breakingChanges(definition(undefined, decimal), definition(undefined, integer))).toEqual([]);
    expect(breakingChanges(definition(undefined, integer), definition(undefined, decimal))).toHaveLength(3);
  });
});
