import 'reflect-metadata';
import { serveTasks } from '@parley/child-processes/serve-tasks';
import { allOperations } from '@parley/contracts/contracts';
import { ApiError, type WireError } from '@parley/contracts/errors';
import { defaultBodyValues, type Operation } from '@parley/contracts/operation';
import { writeLines } from '@parley/background/json-lines';
import { InputReader, parseBody, type RawInput } from './input-reader';
import { tooManyValues, ValueCounter } from './json-values';

export interface LargeBodyTask {
  subject: string;
  rest: Omit<RawInput, 'body'>;
}

/** Without a problem, the content is the validated input as JsonLines. */
export interface CheckedBody {
  problem?: WireError;
}

/** Others are the numbers, texts and literals in lists, such as the bytes of a binary field. */
const maxStructures = 1_000_000;

const operations = new Map(allOperations.map((operation) => [operation.subject, operation]));
const readers = new Map<string, InputReader>();

serveTasks<LargeBodyTask, CheckedBody>(async ({ subject, rest }, content, write) => {
  try {
    for (const line of writeLines(inputOf(operations.get(subject)!, content, rest))) await write(line);
    return {};
  } catch (error) {
    if (error instanceof ApiError) return { problem: error.toWire() };
    throw error;
  }
});

function inputOf(operation: Operation, content: Buffer, rest: LargeBodyTask['rest']): object {
  const { values, structures } = new ValueCounter().add(content);
  if (values > operation.bodyLimitValues) throw tooManyValues(values, operation.bodyLimitValues);
  if (structures > maxStructures) throw tooManyValues(structures, maxStructures, 'JSON lists, objects and fields');
  const input = readerOf(operation).read({ body: parseBody(content.toString()), ...rest });
  // The service parses these values on its event loop.
  const kept = countIn(input);
  if (kept > defaultBodyValues) throw tooManyValues(kept, defaultBodyValues, 'JSON values in fields that it knows');
  return input;
}

function readerOf(operation: Operation): InputReader {
  const reader = readers.get(operation.subject) ?? new InputReader(operation);
  readers.set(operation.subject, reader);
  return reader;
}

function countIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, entry) => sum + countIn(entry), 1);
}
