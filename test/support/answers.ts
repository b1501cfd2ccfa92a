import { isDeepStrictEqual } from 'node:util';
import { QuotaCompletions } from '@parley/contracts/admin/usage';
import { errorCodes } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import type { Class, Operation } from '@parley/contracts/operation';
import type { TestResponse } from '@parley/testing/public-api';

const internals =
  /\b(SELECT|INSERT|UPDATE|DELETE) [^"]*\b(FROM|INTO|SET)\b|node_modules|\.[jt]s:\d+|ECONN|postgres(ql)?:\/\//;

export function brokenPromises(operation: Operation, { status, json, text, headers }: TestResponse): string[] {
  if (status === operation.status) {
    if (operation.answers && streamedTypes.includes(headers['content-type']!)) return [];
    if (!operation.contentType) return undeclared(operation, json);
    return headers['content-type'] === operation.contentType ? [] : [`content-type is ${headers['content-type']}`];
  }
  if (status < 400) return [`status ${status} is neither the declared one nor an error`];
  return [
    ...(status >= 500 ? [`failed with status ${status}`] : []),
    ...(internals.test(text) ? ['the body contains internals'] : []),
    ...errorProblems(status, operation.errorFormat === 'openai' ? ofOpenAi(status, json) : json),
  ];
}

const streamedTypes = ['application/x-ndjson; charset=utf-8', 'text/event-stream; charset=utf-8'];

/** The fields of an error in the format of OpenAI's API, as those of the platform. */
function ofOpenAi(status: number, json: unknown): Record<string, unknown> | undefined {
  const { error } = (json ?? {}) as { error?: { id: string; code: string; message: string } };
  return error && { id: error.id, code: status, type: error.code, message: error.message };
}

/** Classes that are maps by id: their contract declares no fields. */
const maps: unknown[] = [QuotaCompletions];

/** Deviations of a successful response from the declared class. */
export function undeclared({ output }: Operation, json: unknown): string[] {
  if (maps.includes(output)) return [];
  const declared = toInstance(output as Class<object>, json) as object;
  const problems = problemsOf(declared);
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(declared)), json)) return problems;
  return [...problems, `undeclared fields: got ${JSON.stringify(json)}, declared ${JSON.stringify(declared)}`];
}

function errorProblems(status: number, json: Record<string, unknown> | undefined): string[] {
  if (!json) return ['the error is not JSON'];
  const { id, code, type, message, metadata: _metadata, ...others } = json;
  return [
    ...(typeof id === 'string' && id !== '' ? [] : ['the error has no id']),
    ...(code === status ? [] : [`the code of the error is not the status: ${String(code)}`]),
    ...(typeof type === 'string' && Object.hasOwn(errorCodes, type)
      ? []
      : [`the error has an unknown type: ${String(type)}`]),
    ...(typeof message === 'string' && message.trim() !== '' ? [] : ['the error has no message']),
    ...Object.keys(others).map((name) => `the error has an undeclared field: ${name}`),
  ];
}
