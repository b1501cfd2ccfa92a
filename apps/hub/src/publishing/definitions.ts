import type {
  ActionDefinition,
  EntityDefinition,
  EventDefinition,
  Schema,
  StateDefinition,
} from '@parley/contracts/definition';
import { ApiError } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import type { Class } from '@parley/contracts/operation';
import { schemaProblem } from '@parley/json-schema/schema-problem';

/** The parts of a definition that hold JSON schemas, of whatever is published. */
export interface WithSchemas {
  configuration?: Partial<Schema>;
  configurations?: Record<string, Schema>;
  states?: Record<string, Pick<StateDefinition, 'schema'>>;
  entities?: Record<string, EntityDefinition>;
  events?: Record<string, EventDefinition>;
  actions?: Record<string, ActionDefinition>;
  channels?: Record<string, { messages: Record<string, Schema> }>;
}

/**
 * Checks what a draft made of a definition: InvalidPayload when that is beyond the limits of its class, and
 * InvalidJsonSchema with the path of the first schema that is none.
 */
export function checkDefinition<T extends WithSchemas>(type: Class<T>, definition: T): void {
  const problems = problemsOf(toInstance(type, definition) as T);
  if (problems.length > 0) throw new ApiError('InvalidPayload', `${problems.join('; ')}.`);
  checkSchemas(definition);
}

/** Throws InvalidJsonSchema with the path of the first schema that is none. */
export function checkSchemas(definition: WithSchemas): void {
  for (const [path, schema] of schemasOf(definition)) {
    const problem = schema && schemaProblem(schema);
    if (problem) throw new ApiError('InvalidJsonSchema', `${path} ${problem}.`);
  }
}

function* schemasOf(definition: WithSchemas): Generator<[string, Schema['schema'] | undefined]> {
  yield ['configuration.schema', definition.configuration?.schema];
  for (const part of ['configurations', 'states', 'entities', 'events'] as const) {
    for (const [name, { schema }] of Object.entries(definition[part] ?? {})) yield [`${part}.${name}.schema`, schema];
  }
  for (const [name, { input, output }] of Object.entries(definition.actions ?? {})) {
    yield [`actions.${name}.input.schema`, input.schema];
    yield [`actions.${name}.output.schema`, output.schema];
  }
  for (const [channel, { messages }] of Object.entries(definition.channels ?? {})) {
    for (const [name, { schema }] of Object.entries(messages)) {
      yield [`channels.${channel}.messages.${name}.schema`, schema];
    }
  }
}
