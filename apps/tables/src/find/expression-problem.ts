import { ApiError } from '@parley/contracts/errors';
import { expressionProblem, isStopped } from '@parley/database/errors';
import { expressionsOf, type Filter, type Matches } from './filter';

/** InvalidPayload where Postgres does not take an expression, or not in the time that compiling may take; else the error. */
export function ofCompiling({ name }: Matches, error: unknown): unknown {
  return refusal(name, isStopped(error) ? 'the expression is too complex' : expressionProblem(error), error);
}

/**
 * The same for what only the text of a row makes too complex. Postgres does not say which of several expressions it was,
 * and what takes too long may be the filter as a whole.
 */
export function ofMatching(filter: Filter, error: unknown): unknown {
  const names = expressionsOf(filter).map(({ name }) => name);
  if (names.length === 0) return error;
  return refusal(names.length === 1 ? names[0]! : `One of ${names.join(', ')}`, expressionProblem(error), error);
}

function refusal(names: string, problem: string | undefined, cause: unknown): unknown {
  return problem === undefined ? cause : new ApiError('InvalidPayload', `${names}: ${problem}.`, { cause });
}
