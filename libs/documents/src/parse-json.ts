import { type Block, UnreadableDocument } from './block';
import { lines } from './lines';
import { type JsonValue, readJson } from './read-json';
import { RecordWriter } from './record-writer';

/** Names around a list whose elements are records. */
const deepestRecords = 3;

/**
 * JSON parser: a block for each record, which is an element of the outermost list of objects or a value of the
 * outermost object. Scalars directly in the outermost object share a block.
 */
export function* parseJson(text: string, onProgress?: (part: number) => void): Generator<Block> {
  const writer = new RecordWriter();
  let before: Record | undefined;
  for (const value of readJson(text)) {
    const record = recordOf(value);
    if (before && !isSameRecord(before, record)) {
      onProgress?.(value.end / text.length);
      writer.endBlock();
      yield* writer.take();
    }
    before = record;
    writer.write(pathInRecord(value, record), value.text);
  }
  writer.endBlock();
  yield* writer.take();
}

/** JSON Lines parser: a record per line. Invalid lines, such as the truncated last line of a log, are kept unchanged. */
export function* parseJsonLines(slices: Iterable<string>): Generator<Block> {
  for (const line of lines(slices)) {
    if (line.trim() === '') continue;
    yield* recordIn(line);
  }
}

function recordIn(line: string): Block[] {
  try {
    const writer = new RecordWriter();
    for (const { path, text } of readJson(line)) writer.write(path, text);
    writer.endBlock();
    const blocks = writer.take();
    if (blocks.length > 0) return blocks;
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error;
  }
  return [{ type: 'paragraph', text: line }];
}

interface Record {
  root: number;
  /** Undefined for scalars of the outermost object. */
  key?: string | number;
  /** Position of the index of the record in its path. */
  index?: number;
  names: readonly (string | number)[];
}

function recordOf({ root, path }: JsonValue): Record {
  const index = path.findIndex((step) => typeof step === 'number');
  const isList = index !== -1 && index <= deepestRecords && (index === 0 || typeof path[index + 1] === 'string');
  if (isList) return { root, key: path[index], index, names: path.slice(0, index) };
  return { root, key: path.length === 1 ? undefined : path[0], names: [] };
}

function isSameRecord(one: Record, other: Record): boolean {
  return (
    one.root === other.root &&
    one.key === other.key &&
    one.index === other.index &&
    one.names.every((name, i) => name === other.names[i])
  );
}

function pathInRecord({ path }: JsonValue, { index }: Record): (string | number)[] {
  return index === undefined ? path : path.toSpliced(index, 1);
}
