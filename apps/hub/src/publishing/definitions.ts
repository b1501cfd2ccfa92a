import { ApiError } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import type { Class } from '@parley/contracts/operation';
import { checkSchemas, type WithSchemas } from '@parley/json-schema/check-schemas';

/**
 * Checks what a draft made of a definition: InvalidPayload when that is beyond the limits of its class, and
 * InvalidJsonSchema with the path of the first schema that is none.
 */
export function checkDefinition<T extends WithSchemas>(type: Class<T>, definition: T): void {
  const problems = problemsOf(toInstance(type, definition) as T);
  if (problems.length > 0) throw new ApiError('InvalidPayload', `${problems.join('; ')}.`);
  checkSchemas(definition);
}
