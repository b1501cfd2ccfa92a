import { isDeepStrictEqual } from 'node:util';
import { QuotaCompletions } from '@parley/contracts/admin/usage';
import { errorCodes } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import type { Class, Operation } from '@parley/contracts/operation';
import type { Answer } from '@parley/testing/front-door';

/** What no client may ever see: statements, paths of our code, addresses behind the gateway. */
const internals =
  /\b(SELECT|INSERT|UPDATE|DELETE) [^"]*\b(FROM|INTO|SET)\b|node_modules|\.[jt]s:\d+|ECONN|postgres(ql)?:\/\//;

/** Everything in which an answer, good or bad, breaks what every answer of the operation promises. */
export function brokenPromises(operation: Operation, { status, json, text, headers }: Answer): string[] {
  if (status === operation.status) {
    if (!operation.contentType) return undeclared(operation, json);
    return headers['content-type'] === operation.contentType ? [] : [`it is ${headers['content-type']}`];
  }
  if (status < 400) return [`${status} is neither the status of success nor of an error`];
  return [
    ...(status >= 500 ? [`it failed with ${status}`] : []),
    ...(internals.test(text) ? ['it tells what is inside'] : []),
    ...errorProblems(status, json as Record<string, unknown> | undefined),
  ];
}

/** Maps whose names are ids: the contract declares no field of them. */
const maps: unknown[] = [QuotaCompletions];

/** What an answer of success has or lacks, otherwise than the contract declares. */
export function undeclared({ output }: Operation, json: unknown): string[] {
  if (maps.includes(output)) return [];
  const declared = toInstance(output as Class<object>, json) as object;
  const problems = problemsOf(declared);
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(declared)), json)) return problems;
  return [...problems, `of ${JSON.stringify(json)} only ${JSON.stringify(declared)} is declared`];
}

function errorProblems(status: number, json: Record<string, unknown> | undefined): string[] {
  if (!json) return ['the error is no JSON'];
  const { id, code, type, message, metadata: _metadata, ...others } = json;
  return [
    ...(typeof id === 'string' && id !== '' ? [] : ['the error has no id']),
    ...(code === status ? [] : [`the error has another code: ${String(code)}`]),
    ...(typeof type === 'string' && Object.hasOwn(errorCodes, type)
      ? []
      : [`the error has an unknown type: ${String(type)}`]),
    ...(typeof message === 'string' && message.trim() !== '' ? [] : ['the error has no message']),
    ...Object.keys(others).map((name) => `the error has something else: ${name}`),
  ];
}
