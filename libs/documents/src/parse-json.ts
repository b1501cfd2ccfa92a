import { type Block, UnreadableDocument } from './block';
import { lines } from './lines';
import { type JsonValue, readJson } from './read-json';

/** A block that is longer is ended after a line. */
const longestBlock = 100_000;

/**
 * One block for each element of the outermost array or object, with a line `path: value` for each value in it, so that
 * every line says what it is about wherever it is cut. Single values of the outermost object share a block.
 */
export function* parseJson(text: string, onProgress?: (part: number) => void): Generator<Block> {
  let record: string[] = [];
  let length = 0;
  let before: { root: number; place?: string | number } | undefined;
  for (const value of readJson(text)) {
    const [first] = value.path;
    // The single values of an object are one record together, elements of an array one each.
    const place = value.path.length === 1 && typeof first === 'string' ? undefined : first;
    const continues = before?.root === value.root && before.place === place;
    if (record.length > 0 && (!continues || length > longestBlock)) {
      onProgress?.(value.end / text.length);
      yield { type: 'paragraph', text: record.join('\n') };
      record = [];
      length = 0;
    }
    before = { root: value.root, place };
    const line = lineOf(value, typeof first === 'number' ? 1 : 0);
    record.push(line);
    length += line.length + 1;
  }
  if (record.length > 0) yield { type: 'paragraph', text: record.join('\n') };
}

/** A block for each line. One that is not JSON, such as the last of a log that was cut, is kept as it is. */
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

/** `a.b[0].c: value`. The place of a single value in an array says nothing, and is left out. */
function lineOf({ path, text }: JsonValue, from: number): string {
  const steps = path.slice(from, typeof path.at(-1) === 'number' ? -1 : undefined);
  const name = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
  const label = name.replace(/^\./, '');
  return label === '' ? text : `${label}: ${text}`;
}
