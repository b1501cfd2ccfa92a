import { ApiError } from '@parley/contracts/errors';
import { schemaProblem } from './schema-problem';

type Schema = Record<string, unknown>;
type Entries<T> = Record<string, T | null>;

export interface WithSchemas {
  configuration?: { schema?: Schema };
  configurations?: Entries<{ schema: Schema }>;
  states?: Entries<{ schema: Schema }>;
  entities?: Entries<{ schema: Schema }>;
  events?: Entries<{ schema: Schema }>;
  actions?: Entries<{ input: { schema: Schema }; output: { schema: Schema } }>;
  channels?: Entries<{ messages: Entries<{ schema: Schema }> }>;
}

/** Throws InvalidJsonSchema with the path of the first invalid schema. */
export function checkSchemas(definition: WithSchemas): void {
  for (const [path, schema] of schemasOf(definition)) {
    const problem = schema && schemaProblem(schema);
    if (problem) throw new ApiError('InvalidJsonSchema', `${path} ${problem}.`);
  }
}

function* schemasOf(definition: WithSchemas): Generator<[string, Schema | undefined]> {
  yield ['configuration.schema', definition.configuration?.schema];
  for (const part of ['configurations', 'states', 'entities', 'events'] as const) {
    for (const [name, entry] of Object.entries(definition[part] ?? {})) yield [`${part}.${name}.schema`, entry?.schema];
  }
  for (const [name, action] of Object.entries(definition.actions ?? {})) {
    yield [`actions.${name}.input.schema`, action?.input.schema];
    yield [`actions.${name}.output.schema`, action?.output.schema];
  }
  for (const [channel, entry] of Object.entries(definition.channels ?? {})) {
    for (const [name, message] of Object.entries(entry?.messages ?? {})) {
      yield [`channels.${channel}.messages.${name}.schema`, message?.schema];
    }
  }
}
