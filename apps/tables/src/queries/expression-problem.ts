import { ApiError } from '@parley/contracts/errors';
import { expressionProblem, isStopped } from '@parley/persistence/errors';
import { expressionsOf, type Filter, type Matches } from './filter';

/** InvalidPayload when Postgres rejects an expression or cannot compile it in time; otherwise the error itself. */
export function ofCompiling({ name }: Matches, error: unknown): unknown {
  return refusal(name, isStopped(error) ? 'the expression is too complex' : expressionProblem(error), error);
}

/**
 * InvalidPayload when an expression is too complex for the text of a row. Postgres does not report which of several
 * expressions failed. A timeout stays a timeout: it may be due to the filter as a whole.
 */
export function ofMatching(filter: Filter, error: unknown): unknown {
  const names = expressionsOf(filter).map(({ name }) => name);
  if (names.length === 0) return error;
  return refusal(names.length === 1 ? names[0]! : `One of ${names.join(', ')}`, expressionProblem(error), error);
}

function refusal(names: string, problem: string | undefined, cause: unknown): unknown {
  return problem === undefined ? cause : new ApiError('InvalidPayload', `${names}: ${problem}.`, { cause });
}
