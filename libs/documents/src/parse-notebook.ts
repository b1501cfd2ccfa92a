import { type Block } from './block';
import { outputEnd, outputStart } from './limits';
import { parseHtml } from './parse-html';
import { parseMarkdown } from './parse-markdown';
import { parseSource } from './parse-source';
import { parseText } from './parse-text';
import { readJson } from './read-json';

/** Texts of outputs are kept up to this length until they are shortened. */
const longestOutput = 200_000;
const headOrTail = 4_000;
const longestInfo = 1_000;
/** Kinds of data of an output that are text, the best first. */
const textTypes = ['text/markdown', 'text/plain', 'text/html', 'text/latex'];
/** Colours of a terminal, and objects that only say where they are in memory. */
// oxlint-disable-next-line eslint/no-control-regex -- control characters of terminals
const terminalCodes = /\u001b\[[\d;?]*[A-Za-z]/g;
const nameless = /^<[\w.]+(?: [^<>]*)?>$/;

interface Output {
  /** Texts by their kind; streams as `text/plain`. */
  texts: Map<string, string>;
  errorName?: string;
  errorValue?: string;
}

interface Cell {
  type: string;
  /** Only in old notebooks. */
  language?: string;
  source: string;
  level: number;
  outputs: Output[];
}

type Path = (string | number)[];

/** Whether JSON is a notebook: its version is at its end, or at its start. */
export function isNotebook(json: string): boolean {
  const ends = json.length > 2 * headOrTail ? json.slice(0, headOrTail) + json.slice(-headOrTail) : json;
  return /"nbformat"\s*:\s*\d/.test(ends) && json.includes('"cell_type"');
}

/**
 * Jupyter notebook: cells of Markdown, code with its language, and the text of outputs, shortened in the middle. Errors
 * are read by their last line; pictures and other data are left out.
 */
export function* parseNotebook(json: string, onProgress?: (part: number) => void): Generator<Block> {
  const language = languageOf(json);
  let cell: Cell | undefined;
  let current = '';
  for (const { path, text, end } of readJson(json)) {
    const [key, title] = path;
    if (key === 'metadata' && title === 'title') yield { type: 'title', text, level: 1 };
    const start = key === 'cells' ? 1 : key === 'worksheets' && path[2] === 'cells' ? 3 : undefined;
    if (start === undefined) continue;
    const id = path.slice(0, start + 1).join(' ');
    if (id !== current) {
      if (cell) yield* blocksOf(cell, language);
      onProgress?.(end / json.length);
      cell = { type: '', source: '', level: 1, outputs: [] };
      current = id;
    }
    addTo(cell!, path.slice(start + 1), text);
  }
  if (cell) yield* blocksOf(cell, language);
}

/** The language follows the cells, so it is looked for first. */
function languageOf(json: string): string {
  return metadataOf(json, 'language_info', 'name') || metadataOf(json, 'kernelspec', 'language');
}

function metadataOf(json: string, part: string, name: string): string {
  const at = json.lastIndexOf(`"${part}"`);
  if (at === -1) return '';
  const [, info = ''] = json.slice(at, at + longestInfo).split(/\{(.*)/s);
  // An editor in inner braces has a name too.
  const own = info.replace(/\{[^{}]*\}/g, '').split('}', 1)[0]!;
  return new RegExp(`"${name}"\\s*:\\s*"([^"\\\\]{1,40})"`).exec(own)?.[1] ?? '';
}

function addTo(cell: Cell, path: Path, text: string): void {
  const [key, index, kind] = path;
  if (key === 'cell_type') cell.type = text;
  else if (key === 'language') cell.language = text;
  else if (key === 'level') cell.level = Math.min(6, Math.max(1, Number(text) || 1));
  else if (key === 'source' || key === 'input') cell.source += isEmpty(text, path) ? '' : text;
  else if (key === 'outputs' && typeof index === 'number') {
    const output = (cell.outputs[index] ??= { texts: new Map<string, string>() });
    const name = kind === 'data' ? String(path[3]) : String(kind);
    if (kind === 'ename') output.errorName = text;
    else if (kind === 'evalue') output.errorValue = text;
    else if (kind === 'text') addText(output, 'text/plain', text, path);
    else if (kind === 'data' && textTypes.includes(name)) addText(output, name, text, path);
    else if (kind === 'html' || kind === 'latex') addText(output, `text/${kind}`, text, path);
  }
}

function isEmpty(text: string, path: Path): boolean {
  return text === '[]' && typeof path.at(-1) !== 'number';
}

function addText({ texts }: Output, type: string, text: string, path: Path): void {
  const before = texts.get(type) ?? '';
  if (isEmpty(text, path)) return;
  const whole = before + text;
  // The end is kept, so that a long output can be shortened in its middle.
  texts.set(
    type,
    whole.length > longestOutput ? `${whole.slice(0, outputStart)}\n${whole.slice(-10 * outputEnd)}` : whole,
  );
}

function* blocksOf(cell: Cell, language: string): Generator<Block> {
  const { type, source, level, outputs } = cell;
  if (type === 'markdown') yield* parseMarkdown(source);
  else if (type === 'heading') yield { type: level === 1 ? 'title' : 'subtitle', text: source, level };
  else if (type === 'code') yield* codeBlocks(source, cell.language ?? language);
  else yield* parseText([source]);
  for (const output of outputs) if (output) yield* outputBlocks(output);
}

function* codeBlocks(source: string, language: string): Generator<Block> {
  if (source.trim() === '') return;
  let label = language === '' ? '' : `${language}:\n`;
  for (const block of parseSource([source])) {
    yield { ...block, text: label + block.text };
    label = '';
  }
}

function* outputBlocks({ texts, errorName, errorValue = '' }: Output): Generator<Block> {
  if (errorName !== undefined) {
    const last = errorValue.replace(terminalCodes, '').trim().split('\n').at(-1)!;
    yield { type: 'code', text: shortened(last ? `${errorName}: ${last}` : errorName) };
  }
  const type = textTypes.find((kind) => isText(texts.get(kind)));
  if (type === undefined) return;
  const text = texts.get(type)!;
  if (type === 'text/markdown') yield* parseMarkdown(shortened(text));
  else if (type === 'text/html') yield* parseHtml(text).map((block) => ({ ...block, text: shortened(block.text) }));
  else yield { type: 'code', text: shortened(text.replace(terminalCodes, '')) };
}

function isText(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== '' && !nameless.test(text.trim());
}

function shortened(text: string): string {
  const whole = text.trimEnd();
  if (whole.length <= outputStart + outputEnd) return whole;
  return `${whole.slice(0, outputStart).trimEnd()}\n…\n${whole.slice(-outputEnd).trimStart()}`;
}
