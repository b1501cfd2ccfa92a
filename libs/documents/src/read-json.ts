import { UnreadableDocument } from './block';
import { deepestValue } from './limits';

export interface JsonValue {
  /** Index of the top-level value, from 0, in a file with several values. */
  root: number;
  path: (string | number)[];
  text: string;
  end: number;
}

const space = /[\s\uFEFF]*/y;
const comment = /\/\/[^\n]*|\/\*[^]*?\*\//y;
const scalar = /-?\d[\d.eE+-]*|true|false|null|NaN|-?Infinity/y;
const whatStands = /[\w$]{1,20}|[^]/uy;
/** Names are repeated in the path of each value. Longer names are truncated there and emitted once as a value. */
const longestName = 100;

/**
 * JSON tokenizer: yields scalars, empty objects and empty arrays in order. Unlike JSON.parse it builds no tree and
 * keeps duplicate names and all digits. It accepts several top-level values, comments, trailing commas, NaN and
 * Infinity.
 */
export function* readJson(text: string): Generator<JsonValue> {
  let at = 0;
  let root = 0;
  const path: (string | number)[] = [];
  const fail = (expected: string): never => {
    const before = text.slice(0, at).split('\n');
    whatStands.lastIndex = at;
    const found = at < text.length ? `found "${whatStands.exec(text)?.[0]}"` : 'the file ends there';
    throw new UnreadableDocument(
      `The file is not valid JSON: line ${before.length}, character ${before.at(-1)!.length + 1}: ` +
        `expected ${expected}, but ${found}. Correct the file and upload it again.`,
    );
  };
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const skip = () => {
    take(space);
    while (text[at] === '/' && take(comment)) take(space);
  };
  const takeString = (): string | undefined => {
    if (text[at] !== '"') return undefined;
    const start = at;
    do {
      at = text.indexOf('"', at + 1);
      if (at === -1) {
        at = start;
        fail('a string with a closing quote');
      }
    } while (isEscaped(text, at));
    at++;
    try {
      return JSON.parse(text.slice(start, at).replace(/\p{Control}/gu, ' ')) as string;
    } catch {
      at = start;
      return fail('a string with valid JSON escapes');
    }
  };
  function* takeName(): Generator<JsonValue> {
    skip();
    const name = takeString() ?? fail('a name in double quotes');
    skip();
    if (text[at] !== ':') fail('a colon');
    at++;
    if (name.length > longestName) yield { root, path: path.slice(0, -1), text: name, end: at };
    path[path.length - 1] = name.length > longestName ? `${name.slice(0, longestName)}…` : name;
  }

  for (skip(); at < text.length; skip()) {
    const opened = text[at];
    if (opened === '{' || opened === '[') {
      if (path.length >= deepestValue)
        throw new UnreadableDocument(
          `The JSON is nested deeper than ${deepestValue} levels. Simplify its structure and upload it again.`,
        );
      at++;
      skip();
      const closing = opened === '{' ? '}' : ']';
      if (text[at] !== closing) {
        path.push(0);
        if (opened === '{') yield* takeName();
        continue;
      }
      at++;
      yield { root, path: [...path], text: opened + closing, end: at };
    } else {
      const value = takeString() ?? take(scalar) ?? fail('a value');
      yield { root, path: [...path], text: value, end: at };
    }
    for (;;) {
      skip();
      const key = path.at(-1);
      if (key === undefined) {
        root++;
        break;
      }
      const closing = typeof key === 'number' ? ']' : '}';
      const isParted = text[at] === ',';
      if (isParted) {
        at++;
        skip();
      }
      if (text[at] === closing) {
        at++;
        path.pop();
        continue;
      }
      if (!isParted) fail(`a comma or "${closing}"`);
      if (typeof key === 'number') path[path.length - 1] = key + 1;
      else yield* takeName();
      break;
    }
  }
  if (path.length > 0) fail('a value');
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text[quote - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}
