import { plainToInstance } from 'class-transformer';
import { validate } from 'class-validator';
import { ApiError } from '@parley/contracts/errors';
import { describeProblems, FieldProblem, type FieldSource, fieldSources, type RawQuery } from '@parley/contracts/fields';
import type { Operation } from '@parley/contracts/operation';

const methodsWithBody = /^(POST|PUT|PATCH) /;

export interface RawInput {
  body: unknown;
  query: RawQuery;
  path: RawQuery;
}

/** Turns what came over HTTP into the operation's input: body, query and path as one object, unknown fields dropped. */
export class InputReader {
  private readonly hasBody: boolean;
  private readonly query: FieldSource[];
  private readonly path: FieldSource[];

  constructor(private readonly operation: Operation) {
    const sources = fieldSources(operation.input);
    this.query = sources.filter((source) => source.in === 'query');
    this.path = sources.filter((source) => source.in === 'path');
    this.hasBody = methodsWithBody.test(operation.route ?? '');
  }

  /** Throws InvalidPayload, InvalidQuery or ResourceNotFound, with every wrong field of its kind named. */
  async read({ body, query, path }: RawInput): Promise<object> {
    return {
      ...(this.hasBody ? await this.readBody(body) : {}),
      ...readFields(this.query, query, 'InvalidQuery'),
      ...readFields(this.path, path, 'ResourceNotFound'),
    };
  }

  private async readBody(body: unknown): Promise<object> {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new ApiError('InvalidPayload', 'The body must be a JSON object.');
    }
    const instance = plainToInstance(this.operation.input as new () => object, body);
    const errors = await validate(instance, { whitelist: true, forbidUnknownValues: false, validationError: { target: false, value: false } });
    if (errors.length > 0) throw new ApiError('InvalidPayload', `${describeProblems(errors).join('; ')}.`);
    return instance;
  }
}

function readFields(sources: FieldSource[], raw: RawQuery, type: 'InvalidQuery' | 'ResourceNotFound'): object {
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
