import { type Block, UnreadableDocument } from './block';
import { lines } from './lines';
import { type JsonValue, readJson } from './read-json';

/** Characters after which a block ends at the next line. */
const longestBlock = 100_000;

/**
 * JSON parser: one block for each element of the outermost array or object, one line `path: value` for each scalar, so
 * that each line makes sense alone. Scalars directly in the outermost object share a block.
 */
export function* parseJson(text: string, onProgress?: (part: number) => void): Generator<Block> {
  let record: string[] = [];
  let length = 0;
  let before: { root: number; key?: string | number } | undefined;
  for (const value of readJson(text)) {
    const [first] = value.path;
    // Scalars of the outermost object are one record, each array element is a record of its own.
    const key = value.path.length === 1 && typeof first === 'string' ? undefined : first;
    const continues = before?.root === value.root && before.key === key;
    if (record.length > 0 && (!continues || length > longestBlock)) {
      onProgress?.(value.end / text.length);
      yield { type: 'paragraph', text: record.join('\n') };
      record = [];
      length = 0;
    }
    before = { root: value.root, key };
    const line = lineOf(value, typeof first === 'number' ? 1 : 0);
    record.push(line);
    length += line.length + 1;
  }
  if (record.length > 0) yield { type: 'paragraph', text: record.join('\n') };
}

/** JSON Lines parser: one block per line. Invalid lines, such as the truncated last line of a log, are kept unchanged. */
export function* parseJsonLines(slices: Iterable<string>): Generator<Block> {
  for (const line of lines(slices)) {
    if (line.trim() === '') continue;
    yield { type: 'paragraph', text: lineText(line) };
  }
}

function lineText(line: string): string {
  try {
    return Array.from(readJson(line), (value) => lineOf(value, 0)).join('\n') || line;
  } catch (error) {
    if (error instanceof UnreadableDocument) return line;
    throw error;
  }
}

/** Line `a.b[0].c: value`. The array index of a scalar is omitted. */
function lineOf({ path, text }: JsonValue, from: number): string {
  const steps = path.slice(from, typeof path.at(-1) === 'number' ? -1 : undefined);
  const name = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
  const label = name.replace(/^\./, '');
  return label === '' ? text : `${label}: ${text}`;
}
