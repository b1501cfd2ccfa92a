import 'reflect-metadata';
import { allOperations } from '@parley/contracts/contracts';
import { ApiError, type WireError } from '@parley/contracts/errors';
import { defaultBodyValues, type Operation } from '@parley/contracts/operation';
import { move } from 'piscina';
import { InputReader, parseBody, type RawInput } from './input-reader';
import { countStructures, countValues } from './json-values';

export interface LargeBodyTask {
  subject: string;
  parts: Uint8Array[];
  rest: Omit<RawInput, 'body'>;
}

export type CheckedBody = Uint8Array | { problem: WireError };

const operations = new Map(allOperations.map((operation) => [operation.subject, operation]));
/** Operations that take code have 10 million values, most of them bytes as numbers. As many objects exceed the heap of the thread. */
const maxStructures = 1_000_000;
const readers = new Map<string, InputReader>();

export default function checkBody({ subject, parts, rest }: LargeBodyTask): CheckedBody {
  try {
    const operation = operations.get(subject)!;
    const bytes = Buffer.concat(parts);
    requireFewValues(bytes, operation.bodyLimitValues);
    requireFewStructures(bytes);
    const input = readerOf(operation).read({ body: parseBody(bytes.toString()), ...rest });
    const checked = new TextEncoder().encode(JSON.stringify(input));
    // The service parses these values on its event loop.
    requireFewValues(checked, defaultBodyValues);
    return move(checked) as CheckedBody;
  } catch (error) {
    if (error instanceof ApiError) return { problem: error.toWire() };
    throw error;
  }
}

function readerOf(operation: Operation): InputReader {
  const reader = readers.get(operation.subject) ?? new InputReader(operation);
  readers.set(operation.subject, reader);
  return reader;
}

/** A thread that ends near its heap limit can end the whole process, so such a body is refused before it is parsed. */
function requireFewStructures(bytes: Uint8Array): void {
  if (countStructures(bytes, maxStructures) <= maxStructures) return;
  throw new ApiError(
    'PayloadTooLarge',
    `The body is too large: an operation takes at most ${maxStructures} lists, objects and names of fields. Send it in several requests.`,
  );
}

function requireFewValues(bytes: Uint8Array, max: number): void {
  if (countValues(bytes, max) <= max) return;
  throw new ApiError(
    'PayloadTooLarge',
    `The body is too large: this operation takes at most ${max} JSON values (numbers, texts, lists and objects at all levels). Send it in several requests.`,
  );
}
