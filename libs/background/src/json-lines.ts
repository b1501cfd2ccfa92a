import { yieldToEventLoop } from './yield-to-event-loop';

/**
 * A large JSON object as lines, each of which takes about a millisecond to write or to parse. A line is `[path, part]`: a list
 * or an object whose entries are added to the one at the path, or a text that is appended to the text there.
 */
export class JsonLines {
  constructor(readonly parts: Uint8Array[]) {}

  /** Leaves turns of the event loop to others in between. */
  static async of(value: object): Promise<JsonLines> {
    const parts: Uint8Array[] = [];
    for (const line of writeLines(value)) {
      parts.push(Buffer.from(line));
      await yieldToEventLoop();
    }
    return new JsonLines(parts);
  }

  get byteLength(): number {
    return this.parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Leaves turns of the event loop to others in between. Throws SyntaxError. */
  async parse(): Promise<object> {
    const assembly = new Assembly();
    let pending: Uint8Array[] = [];
    for (const part of this.parts) {
      let from = 0;
      for (let end = part.indexOf(lineBreak); end >= 0; end = part.indexOf(lineBreak, from)) {
        pending.push(part.subarray(from, end));
        assembly.add(Buffer.concat(pending).toString());
        await yieldToEventLoop();
        pending = [];
        from = end + 1;
      }
      if (from < part.length) pending.push(part.subarray(from));
    }
    if (pending.length > 0) throw new SyntaxError('The last line is cut off.');
    return assembly.whole();
  }
}

type Path = (string | number)[];
type Part = string | unknown[] | Record<string, unknown>;

const lineBreak = 10;
/** Cost of a line, in characters: a value costs as much as this many characters, beside those of its text and name. */
const maxCost = 128_000;
const valueCost = 32;

export function* writeLines(value: object): Generator<string> {
  yield* linesOf([], value as Part);
}

function* linesOf(path: Path, value: Part): Generator<string> {
  if (typeof value === 'string') {
    for (let from = 0; from < value.length; from += maxCost) yield lineOf(path, value.slice(from, from + maxCost));
    return;
  }
  const large: [Path, Part][] = [];
  let part = emptyOf(value);
  let cost = 0;
  for (const [name, entry] of entriesOf(value)) {
    const entryCost = valueCost + String(name).length + costOf(entry, maxCost);
    const isLarge = entryCost > maxCost;
    if (cost > 0 && !isLarge && cost + entryCost > maxCost) {
      yield lineOf(path, part);
      [part, cost] = [emptyOf(value), 0];
    }
    if (isLarge) large.push([[...path, name], entry as Part]);
    cost += isLarge ? valueCost : entryCost;
    put(part as object, Array.isArray(part) ? part.length : name, isLarge ? emptyOf(entry as Part) : entry);
  }
  yield lineOf(path, part);
  for (const [place, entry] of large) yield* linesOf(place, entry);
}

function lineOf(path: Path, part: Part): string {
  return `${JSON.stringify([path, part])}\n`;
}

/** Characters of a JSON value, with 32 for each of its entries. Stops counting above the maximum. */
export function costOf(value: unknown, max: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let cost = 0;
  for (const [name, entry] of entriesOf(value as Part & object)) {
    cost += valueCost + String(name).length + costOf(entry, max - cost);
    if (cost > max) break;
  }
  return cost;
}

function* entriesOf(value: unknown[] | Record<string, unknown>): Generator<[string | number, unknown]> {
  if (Array.isArray(value)) yield* value.entries();
  else for (const name of Object.keys(value)) yield [name, value[name]];
}

function emptyOf(value: Part): Part {
  if (typeof value === 'string') return '';
  return Array.isArray(value) ? [] : {};
}

/** Sets an own property, also for the name `__proto__`. */
function put(container: object, name: string | number, value: unknown): void {
  if (name !== '__proto__') (container as Record<string | number, unknown>)[name] = value;
  else Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}

class Assembly {
  private root?: object;

  add(line: string): void {
    const [path, part] = JSON.parse(line) as [Path, Part];
    if (this.root === undefined && typeof part === 'object' && path.length === 0) {
      this.root = part;
      return;
    }
    if (typeof part === 'string') {
      const container = this.at(path.slice(0, -1)) as Record<string | number, unknown>;
      const name = path.at(-1)!;
      if (typeof ownEntry(container, name) !== 'string') throw new SyntaxError('A line continues a text that is none.');
      container[name] = (container[name] as string) + part;
      return;
    }
    const container = this.at(path);
    if (Array.isArray(container) !== Array.isArray(part))
      throw new SyntaxError('A line continues a value of another type.');
    for (const [name, entry] of entriesOf(part))
      put(container, Array.isArray(container) ? container.length : name, entry);
  }

  whole(): object {
    if (!this.root) throw new SyntaxError('The value has no lines.');
    return this.root;
  }

  private at(path: Path): object {
    const found = path.reduce<unknown>(ownEntry, this.root);
    if (typeof found !== 'object' || found === null) throw new SyntaxError('A line continues a value that is missing.');
    return found;
  }
}

/** Never a property of a prototype. */
function ownEntry(container: unknown, name: string | number): unknown {
  if (typeof container !== 'object' || container === null || !Object.hasOwn(container, name)) return undefined;
  return (container as Record<string | number, unknown>)[name];
}
