import * as fc from 'fast-check';

/** `markup` is XML or HTML; `lines` any text, line by line; `bytes` binary records. */
export type Syntax = 'markup' | 'json' | 'rtf' | 'pdf' | 'lines' | 'cells' | 'bytes';

type Node = string | Branch;

/** Element, group, object, array or row. */
interface Branch {
  open: string;
  children: Node[];
  close: string;
  separator?: string;
}

interface Place {
  parent: Branch;
  index: number;
}

const kinds = [
  ...['delete', 'duplicate', 'move', 'nest', 'unwrap', 'swap', 'truncate', 'empty'],
  ...['number', 'number', 'attribute', 'reference', 'text'],
] as const;

/** Change of a structure. Its numbers choose places and values, whatever the document. */
export interface Mutation {
  kind: (typeof kinds)[number];
  part: number;
  at: number;
  other: number;
  value: number;
}

export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...kinds),
    part: fc.nat(99),
    at: fc.nat(99_999),
    other: fc.nat(99_999),
    value: fc.nat(999),
  }),
  { minLength: 1, maxLength: 8 },
);

/** Characters beyond which a document grows no more. */
const mostCharacters = 300_000;
const deepestNesting = 400;
const extremes = [
  ...['0', '-1', '-3', '1.5', '-0.5', '9', '300', '65536', '1048577', '2147483648', '-2147483649', '4294967296'],
  ...['9007199254740993', '99999999999999999999', '1e308', '1e-320', '-1e308', '1e400', 'NaN', 'Infinity', '', 'x'],
];
const texts = [
  ...['', ' ', '\n', '\0', '\ud800', '\u202e\u05d0', '&#0;', '&amp;', '<', '>', '"', "'", '|', '\\', '{', '}', '%ff'],
  ...[
    '__proto__',
    'constructor',
    '😀',
    'e\u0301',
    '\u00ad',
    '- ',
    '1. ',
    '# ',
    '> ',
    '-1',
    '_xD83D_',
    'a'.repeat(30_000),
  ],
];

const number = /-?\d+(?:\.\d+)?/g;
const attribute = /[\w:.-]+\s*=\s*("[^"]*"|'[^']*')/g;
const name = /"[^"\n]*"|\/[A-Z][\w.-]*|\d+ \d+ R/g;
/** One document in this many is truncated. */
const cutOneIn = 12;

/** Applies the mutations one after the other. Stops before one that makes the document too long. */
export function mutated(text: string, syntax: Syntax, all: Mutation[]): string {
  if (syntax === 'bytes') return all.reduce(mutatedBytes, text);
  const root = treeOf(text, syntax);
  let changed = text;
  for (const mutation of all) {
    const places = placesIn(root);
    if (places.length === 0) break;
    mutate(root, places, mutation);
    const next = textOf(root);
    if (next.length > mostCharacters) break;
    changed = next;
  }
  const { at, other } = all[0]!;
  return at % cutOneIn === 0 ? changed.slice(0, (at * other) % (changed.length + 1)) : changed;
}

function mutate(root: Branch, places: Place[], { kind, at, other, value }: Mutation): void {
  const { parent, index } = places[at % places.length]!;
  const there = places[other % places.length]!;
  const node = parent.children[index]!;
  const otherNode = there.parent.children[there.index]!;
  const replace = (...nodes: Node[]) => void parent.children.splice(index, 1, ...nodes);
  switch (kind) {
    case 'delete':
      return replace();
    case 'duplicate':
      return replace(...Array.from({ length: 2 + (value % 40) }, () => copyOf(node)));
    case 'move':
      return void there.parent.children.splice(there.index, 0, copyOf(node));
    case 'nest':
      return replace(nested(node, typeof otherNode === 'string' ? parent : otherNode, 1 + (value % deepestNesting)));
    case 'unwrap':
      return typeof node === 'string' ? replace() : replace(...node.children);
    case 'swap':
      there.parent.children[there.index] = copyOf(node);
      return replace(copyOf(otherNode));
    case 'truncate':
      parent.children.length = index;
      return;
    case 'empty':
      return typeof node === 'string' ? replace('') : void (node.children = []);
    case 'number':
      return replaceOwn(places, at, number, value, () => extremes[other % extremes.length]!);
    case 'attribute':
      return replaceOwn(places, at, attribute, value, () => (value % 2 ? anyOf(textOf(root), attribute, other) : ''));
    case 'reference':
      return replaceOwn(places, at, name, value, () => anyOf(textOf(root), name, other));
    case 'text':
      return replace(texts[value % texts.length]!, ...(value % 2 ? [node] : []));
  }
}

function nested(node: Node, { open, close, separator }: Branch, depth: number): Node {
  let inner = node;
  for (let i = 0; i < depth; i++) inner = { open, children: [inner], close, separator };
  return inner;
}

/** Replaces one match in the text of a leaf or in the tag that opens a branch, in the next place that has one. */
function replaceOwn(places: Place[], at: number, pattern: RegExp, which: number, value: () => string): void {
  for (let i = 0; i < places.length; i++) {
    const { parent, index } = places[(at + i) % places.length]!;
    const node = parent.children[index]!;
    const own = typeof node === 'string' ? node : node.open;
    const found = [...own.matchAll(pattern)];
    const match = found[which % found.length];
    if (!match) continue;
    const changed = own.slice(0, match.index) + value() + own.slice(match.index + match[0].length);
    if (typeof node === 'string') parent.children[index] = changed;
    else node.open = changed;
    return;
  }
}

function anyOf(text: string, pattern: RegExp, which: number): string {
  const found = text.match(pattern);
  return found?.[which % found.length] ?? '';
}

function copyOf(node: Node): Node {
  return typeof node === 'string' ? node : { ...node, children: node.children.map(copyOf) };
}

function placesIn(root: Branch): Place[] {
  const places: Place[] = [];
  const pending = [root];
  for (let parent = pending.pop(); parent; parent = pending.pop()) {
    parent.children.forEach((child, index) => {
      places.push({ parent, index });
      if (typeof child !== 'string') pending.push(child);
    });
  }
  return places;
}

function textOf(root: Node): string {
  const parts: string[] = [];
  const pending: Node[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (typeof node === 'string') {
      parts.push(node);
      continue;
    }
    parts.push(node.open);
    pending.push(node.close);
    node.children.forEach((_, i) => {
      const child = node.children[node.children.length - 1 - i]!;
      pending.push(child);
      if (node.separator && i < node.children.length - 1) pending.push(node.separator);
    });
  }
  return parts.join('');
}

/** Numbers in two or four bytes: those around limits, marks of ends and of free sectors. */
const extremeBytes = [
  '00000000',
  '01000000',
  'ffffffff',
  'feffffff',
  'ffffff7f',
  '00000080',
  'ffff',
  '0000',
  '0080',
  'ff',
];

/** A number in place of another, or bytes that are lost, doubled, moved or cut. */
function mutatedBytes(text: string, { kind, at, other, value }: Mutation): string {
  const [from, to] = [at % (text.length + 1), other % (text.length + 1)];
  const some = text.slice(from, from + (value % 64));
  const rest = text.slice(0, from) + text.slice(from + some.length);
  switch (kind) {
    case 'delete':
      return rest;
    case 'duplicate':
      return text.slice(0, to) + some + text.slice(to);
    case 'move':
    case 'swap':
      return rest.slice(0, to) + some + rest.slice(to);
    case 'truncate':
      return value % cutOneIn === 0 ? text.slice(0, from) : text;
    case 'nest':
    case 'unwrap':
      return text.slice(0, from) + String.fromCharCode(value % 256) + text.slice(from + 1);
    case 'number':
    case 'attribute':
    case 'reference':
    case 'text':
    case 'empty': {
      const number = Buffer.from(extremeBytes[value % extremeBytes.length]!, 'hex').toString('latin1');
      return text.slice(0, from) + number + text.slice(from + number.length);
    }
  }
}

function treeOf(text: string, syntax: Exclude<Syntax, 'bytes'>): Branch {
  switch (syntax) {
    case 'markup':
      return markupTree(text);
    case 'json':
      return { open: '', children: [valueOf(JSON.parse(text))], close: '' };
    case 'rtf':
      return bracketTree(text.match(/[{}]|\\[a-z]+-?\d* ?|\\'..|\\[^]|[^\\{}]+/gi) ?? [], /^\{/, /^\}/);
    case 'pdf':
      return bracketTree(pdfTokens(text), /^(?:<<|\[|\d+ \d+ obj|stream|BT)/, /^(?:>>|\]|endobj|endstream|ET)/);
    case 'lines':
      return { open: '', children: text.split(/(?<=\n)/), close: '' };
    case 'cells':
      return {
        open: '',
        children: text.split(/(?<=\n)/).map((line) => ({ open: '', children: line.split(/(?<=[,;\t])/), close: '' })),
        close: '',
      };
  }
}

function bracketTree(tokens: string[], opens: RegExp, closes: RegExp): Branch {
  const root: Branch = { open: '', children: [], close: '' };
  const open = [root];
  for (const token of tokens) {
    if (opens.test(token)) {
      const branch = { open: token, children: [], close: '' };
      open.at(-1)!.children.push(branch);
      open.push(branch);
    } else if (closes.test(token) && open.length > 1) open.pop()!.close = token;
    else open.at(-1)!.children.push(token);
  }
  return root;
}

/** The content of a compressed stream is one token. */
function pdfTokens(text: string): string[] {
  return text.split(/(stream\r?\n[^]*?endstream)/).flatMap((part) => {
    const isBinary = part.startsWith('stream') && /[^\t\r\n\x20-\x7e]/.test(part);
    if (isBinary) return [part.replace(/^stream/, ' stream')];
    return (
      part.match(
        /\d+ \d+ (?:R|obj)\b\s*|\((?:\\[^]|[^\\()])*\)\s*|<<\s*|>>\s*|[[\]]\s*|\/[^\s/<>[\]()]*\s*|[^\s/<>[\]()]+\s*|[^]/g,
      ) ?? []
    );
  });
}

function markupTree(text: string): Branch {
  const root: Branch = { open: '', children: [], close: '' };
  const open = [root];
  for (const token of text.match(/<!--[^]*?-->|<[^>]*>|[^<]+|</g) ?? []) {
    const closing = /^<\/([^\s>]+)/.exec(token)?.[1];
    if (closing) {
      const depth = open.findLastIndex((branch) => /^<([^\s/>]+)/.exec(branch.open)?.[1] === closing);
      if (depth > 0) {
        open[depth]!.close = token;
        open.length = depth;
        continue;
      }
    }
    const isElement = /^<[a-z]/i.test(token);
    const node = isElement ? { open: token, children: [], close: '' } : token;
    open.at(-1)!.children.push(node);
    if (typeof node !== 'string' && !token.endsWith('/>')) open.push(node);
  }
  return root;
}

function valueOf(value: unknown): Node {
  if (Array.isArray(value)) return { open: '[', children: value.map(valueOf), close: ']', separator: ',' };
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const children = Object.entries(value).map(([key, entry]) => ({
    open: `${JSON.stringify(key)}:`,
    children: [valueOf(entry)],
    close: '',
  }));
  return { open: '{', children, close: '}', separator: ',' };
}
