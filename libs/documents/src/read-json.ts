import { UnreadableDocument } from './block';

/** A scalar as it is written, and where it stands: names of objects, places in arrays. */
export interface JsonValue {
  /** Of which value of those that follow one another: 0 for the first. */
  root: number;
  path: (string | number)[];
  /** Strings are unescaped; numbers keep all of their digits. */
  text: string;
  /** How many characters are read with it. */
  end: number;
}

const space = /[\s\uFEFF]*/y;
const comment = /\/\/[^\n]*|\/\*[^]*?\*\//y;
const scalar = /-?\d[\d.eE+-]*|true|false|null|NaN|-?Infinity/y;
const whatStands = /[\w$]{1,20}|[^]/uy;
/** Deeper is no data that somebody has written. */
const deepest = 1_000;
/** Names are repeated with each value below them: one that is longer is given as a value itself, once. */
const longestName = 100;

/**
 * The scalars of JSON in order, and empty objects and arrays. Unlike JSON.parse it builds no tree, keeps names that are
 * there twice and digits beyond what a number holds. Several values may follow one another. Comments, commas after the
 * last value, NaN and Infinity are read as those meant them who write them into configuration and data.
 */
export function* readJson(text: string): Generator<JsonValue> {
  let at = 0;
  let root = 0;
  const path: (string | number)[] = [];
  const fail = (expected: string): never => {
    const before = text.slice(0, at).split('\n');
    whatStands.lastIndex = at;
    const found = at < text.length ? `"${whatStands.exec(text)?.[0]}" stands there` : 'the file ends there';
    throw new UnreadableDocument(
      `The file is not valid JSON: in line ${before.length}, at character ${before.at(-1)!.length + 1}, ` +
        `${expected} is expected, but ${found}. Upload it again when that is mended.`,
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
        fail('a string that ends');
      }
    } while (isEscaped(text, at));
    at++;
    try {
      return JSON.parse(text.slice(start, at).replace(/\p{Control}/gu, ' ')) as string;
    } catch {
      at = start;
      return fail('a string whose escapes are those of JSON');
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
      if (path.length >= deepest) throw new UnreadableDocument(`The JSON is nested deeper than ${deepest} levels.`);
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
    // What follows a value: the next one of its object or array, or the end of these.
    for (;;) {
      skip();
      const place = path.at(-1);
      if (place === undefined) {
        root++;
        break;
      }
      const closing = typeof place === 'number' ? ']' : '}';
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
      if (typeof place === 'number') path[path.length - 1] = place + 1;
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
