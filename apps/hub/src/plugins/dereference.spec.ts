import { dereference, type Implementer } from './dereference';

const modelSchema = { type: 'object', properties: { id: { type: 'string' }, onlyHere: { type: 'boolean' } } };
const llm = { id: 'llm-1', name: 'llm', version: '1.0.0' };

const openai: Implementer = {
  id: 'openai',
  name: 'openai',
  version: '2.0.0',
  entities: { model: { schema: modelSchema }, unused: { schema: {} } },
  interfaces: {
    llm: { id: 'llm-1', name: 'llm', entities: { modelRef: { name: 'model' }, gone: { name: 'nothing' } } },
  },
};
const older: Implementer = {
  ...openai,
  id: 'older',
  interfaces: { llm: { id: 'llm-0', name: 'llm', entities: { modelRef: { name: 'model' } } } },
};
const twice: Implementer = {
  ...openai,
  id: 'twice',
  interfaces: {
    fast: { id: 'llm-1', name: 'llm', entities: { modelRef: { name: 'unused' } } },
    good: { id: 'llm-1', name: 'llm', entities: { modelRef: { name: 'model' } } },
  },
};
const other: Implementer = { ...openai, id: 'other', interfaces: {} };
const implementers = new Map([openai, older, twice, other].map((each) => [each.id, each]));

const model = { $ref: 'interface:llm/entities/modelRef' };

function taking(schema: Record<string, unknown>) {
  return {
    configuration: { schema: {} },
    states: {},
    events: {},
    actions: { a: { input: { schema }, output: { schema: {} } } },
  };
}

function inputOf(schema: Record<string, unknown>, bindings: Parameters<typeof dereference>[2]) {
  return dereference(taking(schema), { llm }, bindings, implementers).actions['a'].input.schema;
}

describe('a reference to an entity', () => {
  it('replaces references to entities in configuration, states, events and actions, and nothing else', () => {
    const rest = { attributes: { a: 'b' } };
    const plugin = {
      ...rest,
      configuration: { title: 'C', schema: { properties: { m: model } } },
      states: { s: { type: 'user' as const, schema: { properties: { m: model } }, expiry: 5 } },
      events: { e: { title: 'E', schema: model } },
      actions: { a: { title: 'A', input: { schema: { items: [model, { $ref: '#/x' }] } }, output: { schema: model } } },
    };
    const copy = structuredClone(plugin);

    const replaced = dereference(plugin, { llm }, { llm: { integrationId: 'openai' } }, implementers);

    expect(replaced).toEqual({
      ...rest,
      configuration: { title: 'C', schema: { properties: { m: modelSchema } } },
      states: { s: { type: 'user', schema: { properties: { m: modelSchema } }, expiry: 5 } },
      events: { e: { title: 'E', schema: modelSchema } },
      actions: {
        a: {
          title: 'A',
          input: { schema: { items: [modelSchema, { $ref: '#/x' }] } },
          output: { schema: modelSchema },
        },
      },
    });
    expect(plugin).toEqual(copy);
  });

  it.each([
    ['an object', { properties: { m: model } }, { properties: { m: modelSchema } }],
    ['a list of choices', { anyOf: [{ type: 'null' }, model] }, { anyOf: [{ type: 'null' }, modelSchema] }],
    ['the depth', { items: { additionalProperties: model } }, { items: { additionalProperties: modelSchema } }],
    ['company', { ...model, title: 'ignored as JSON schema does' }, modelSchema],
    ['another kind', { $ref: 'modelRef' }, { $ref: 'modelRef' }],
    [
      'a property of that name',
      { properties: { $ref: { type: 'string' } } },
      { properties: { $ref: { type: 'string' } } },
    ],
    ['none at all', { const: null, default: [1, 'x'] }, { const: null, default: [1, 'x'] }],
  ])('replaces a reference to an entity in %s', (_where, schema, replaced) => {
    expect(inputOf(schema, { llm: { integrationId: 'openai' } })).toEqual(replaced);
  });

  it.each([
    ['of the same interface in another version', { integrationId: 'older' }],
    [
      'that implements it twice, where the binding says as what',
      { integrationId: 'twice', integrationInterfaceAlias: 'good' },
    ],
  ])('replaces a reference to an entity by an integration %s', (_which, binding) => {
    expect(inputOf(model, { llm: binding })).toEqual(modelSchema);
  });

  it.each([
    [
      'no binding',
      {},
      model,
      'InvalidPayload',
      'interfaces.llm is missing: bind it to an integration that implements it.',
    ],
    [
      'an integration that is not there',
      { llm: { integrationId: 'x' } },
      model,
      'ReferenceNotFound',
      'interfaces.llm: integration "x" not found.',
    ],
    [
      'an integration that does not implement it',
      { llm: { integrationId: 'other' } },
      model,
      'ReferenceNotFound',
      'interfaces.llm: integration openai 2.0.0 does not implement llm.',
    ],
    [
      'an alias that the integration does not have',
      { llm: { integrationId: 'openai', integrationInterfaceAlias: 'x' } },
      model,
      'ReferenceNotFound',
      'interfaces.llm: integration openai 2.0.0 does not implement llm as "x".',
    ],
    [
      'an integration that implements it twice',
      { llm: { integrationId: 'twice' } },
      model,
      'ReferenceNotFound',
      'interfaces.llm: integration openai 2.0.0 implements llm more than once, as "fast" and "good".',
    ],
    [
      'an entity that the integration does not name',
      { llm: { integrationId: 'openai' } },
      { $ref: 'interface:llm/entities/toString' },
      'ReferenceNotFound',
      'interfaces.llm: integration openai 2.0.0 has no schema for the entity "toString".',
    ],
    [
      'an entity that the integration names and does not have',
      { llm: { integrationId: 'openai' } },
      { $ref: 'interface:llm/entities/gone' },
      'ReferenceNotFound',
      'interfaces.llm: integration openai 2.0.0 has no schema for the entity "gone".',
    ],
    [
      'an interface that the plugin does not depend on',
      { llm: { integrationId: 'openai' } },
      { $ref: 'interface:constructor/entities/x' },
      'ReferenceNotFound',
      '"interface:constructor/entities/x": the plugin has no dependency on an interface "constructor".',
    ],
  ])('refuses to replace a reference to an entity with %s', (_what, bindings, schema, type, message) => {
    expect(() => inputOf(schema, bindings)).toThrow(expect.objectContaining({ type, message }));
  });

  it('requires a binding even when nothing refers to the interface', () => {
    expect(() => inputOf({}, {})).toThrow(expect.objectContaining({ type: 'InvalidPayload' }));
    expect(dereference(taking({}), {}, {}, new Map())).toEqual(taking({}));
  });

  it('limits the memory for repeated references', () => {
    const large = { ...openai, entities: { model: { schema: { description: 'x'.repeat(100_000) } } } };
    const schema = { anyOf: Array.from({ length: 50 }, () => model) };

    expect(() =>
      dereference(taking(schema), { llm }, { llm: { integrationId: 'openai' } }, new Map([['openai', large]])),
    ).toThrow(expect.objectContaining({ type: 'InvalidPayload', message: expect.stringContaining('too large') }));
  });
});
