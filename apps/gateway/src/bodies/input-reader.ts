import { ApiError } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import { isRecord } from '@parley/contracts/is-record';
import { FieldProblem, type FieldSource, fieldSources, type RawQuery } from '@parley/contracts/query-fields';
import type { Class, Operation } from '@parley/contracts/operation';
import { storageProblem } from '@parley/contracts/storage';

const methodsWithBody = /^(POST|PUT|PATCH) /;

export interface RawInput {
  body: unknown;
  query: RawQuery;
  path: RawQuery;
  headers: RawQuery;
}

/**
 * Converts an HTTP request into the operation's input: body, query, path and headers in one object, without unknown
 * fields.
 */
export class InputReader {
  private readonly hasBody: boolean;
  private readonly query: FieldSource[];
  private readonly path: FieldSource[];
  private readonly headers: FieldSource[];

  constructor(private readonly operation: Operation) {
    const sources = fieldSources(operation.input);
    this.query = sources.filter((source) => source.in === 'query');
    this.path = sources.filter((source) => source.in === 'path');
    this.headers = sources.filter((source) => source.in === 'header');
    this.hasBody = methodsWithBody.test(operation.route ?? '');
  }

  /** Throws InvalidPayload, InvalidQuery or ResourceNotFound, with the problem and the constraint. */
  read({ body, query, path, headers }: RawInput): object {
    return Object.assign(
      this.hasBody ? this.readBody(body) : {},
      readFields(this.query, withoutEmpty(query), 'InvalidQuery'),
      readFields(this.headers, headers, 'InvalidPayload'),
      readFields(this.path, path, 'ResourceNotFound'),
    );
  }

  private readBody(body: unknown = {}): object {
    if (!isRecord(body)) throw new ApiError('InvalidPayload', 'The body must be a JSON object.');
    const input = toInstance(this.operation.input as Class<object>, body) as object;
    const unstorable = storageProblem(input);
    const problems = unstorable ? [unstorable] : problemsOf(input);
    if (problems.length > 0) throw new ApiError('InvalidPayload', `${problems.join('; ')}.`);
    return input;
  }
}

/** Undefined for an empty text. Throws InvalidPayload. */
export function parseBody(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch (error) {
    throw new ApiError('InvalidPayload', `The body is not valid JSON: ${(error as Error).message}.`);
  }
}

/** Clients send `beforeDate=` for a parameter that they do not set, so an empty value counts as absent. */
export function withoutEmpty(query: RawQuery): RawQuery {
  const hasEmpty = Object.values(query).some((value) => value === '' || (Array.isArray(value) && value.includes('')));
  if (!hasEmpty) return query;
  const given: RawQuery = Object.create(null) as RawQuery;
  for (const [name, value] of Object.entries(query)) {
    const values = [value].flat().filter((each) => each !== '' && each !== undefined) as string[];
    if (values.length > 0) given[name] = values.length > 1 ? values : values[0];
  }
  return given;
}

function readFields(
  sources: FieldSource[],
  raw: RawQuery,
  type: 'InvalidQuery' | 'InvalidPayload' | 'ResourceNotFound',
): object {
  const fields: Record<string, unknown> = {};
  for (const source of sources) {
    try {
      const value = source.read(raw);
      if (value !== undefined) fields[source.name] = value;
    } catch (error) {
      if (!(error instanceof FieldProblem)) throw error;
      throw new ApiError(type, `${error.message}.`);
    }
  }
  return fields;
}
