import { ApiError } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import type { Class } from '@parley/contracts/operation';
import { checkSchemas, type WithSchemas } from '@parley/json-schema/check-schemas';

/**
 * Validates a merged definition: throws InvalidPayload above the limits of its class, InvalidJsonSchema with the path
 * of the first invalid schema.
 */
export function checkDefinition<T extends WithSchemas>(type: Class<T>, definition: T): void {
  const problems = problemsOf(toInstance(type, definition) as T);
  if (problems.length > 0) throw new ApiError('InvalidPayload', `${problems.join('; ')}.`);
  checkSchemas(definition);
}
