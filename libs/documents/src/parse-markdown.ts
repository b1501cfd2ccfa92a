import type { FootnoteDefinition, ListItem, PhrasingContent, RootContent, Table } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { type Block } from './block';
import { BlockWriter } from './block-writer';
import { longestMarkdown } from './limits';
import { parseHtml } from './parse-html';
import { parseText } from './parse-text';
import { type MarkdownPiece, splitMarkdown } from './split-markdown';

const rowsAtOnce = 100;
const options = { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] };

/** GitHub Flavored Markdown. Links keep their text, images their alt text, HTML its visible text. */
export function parseMarkdown(source: string): Block[] {
  if (source.length > longestMarkdown) return [...parseText([source])];
  const writer = new BlockWriter();
  const labels = definedLabels(source);
  for (const piece of splitMarkdown(source)) writePiece(writer, piece, labels);
  return writer.blocks();
}

function writePiece(writer: BlockWriter, piece: MarkdownPiece, labels: Set<string>): void {
  switch (piece.type) {
    case 'markdown':
      return writeAll(writer, parse(piece.text, labels));
    case 'table':
      return writeTable(writer, piece, labels);
    case 'code':
      return writer.write({ type: 'code', text: piece.text });
    case 'html':
      return writeHtml(writer, piece.text);
    case 'text':
      return writer.write({ type: 'paragraph', text: piece.text.trim() });
  }
}

function parse(markdown: string, labels: Set<string>): RootContent[] {
  return fromMarkdown(definitionsFor(markdown, labels) + markdown, options).children;
}

function writeAll(writer: BlockWriter, nodes: RootContent[]): void {
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i]!;
    if (node.type !== 'html') {
      writeNode(writer, node);
      continue;
    }
    // Markdown splits HTML such as a table at blank lines, so adjacent HTML nodes are read together.
    let html = node.value;
    for (let next = nodes[i + 1]; next?.type === 'html'; next = nodes[++i + 1]) html += `\n${next.value}`;
    writeHtml(writer, html);
  }
}

function writeNode(writer: BlockWriter, node: RootContent): void {
  if (node.type === 'heading') return writer.heading(node.depth, inlineText(node.children).replaceAll('\n', ' '));
  if (node.type === 'paragraph') return writer.write({ type: 'paragraph', text: inlineText(node.children) });
  if (node.type === 'code') return writer.write({ type: 'code', text: node.value });
  if (node.type === 'table') return writer.table(tableRows(node), 1);
  if (node.type === 'footnoteDefinition') return writeNote(writer, node);
  if (node.type === 'blockquote') {
    writer.enter({ type: 'blockquote' });
    writeAll(writer, node.children);
    writer.leave();
  }
  if (node.type === 'list') {
    writer.enter({ type: 'list' });
    node.children.forEach((item, index) => writeItem(writer, item, node.ordered ? (node.start ?? 1) + index : null));
    writer.leave();
  }
}

/** The label of a note is where it is referred to, and before its text. */
function writeNote(writer: BlockWriter, { label, children: [first, ...rest] }: FootnoteDefinition): void {
  const mark: PhrasingContent = { type: 'text', value: `[${label}] ` };
  if (first?.type === 'paragraph') writeNode(writer, { ...first, children: [mark, ...first.children] });
  else if (first) writeNode(writer, first);
  writeAll(writer, rest);
}

function writeItem(writer: BlockWriter, item: ListItem, number: number | null): void {
  const task = typeof item.checked === 'boolean' ? `[${item.checked ? 'x' : ' '}] ` : '';
  writer.enter({ type: 'item', marker: (number === null ? '- ' : `${number}. `) + task });
  writeAll(writer, item.children);
  writer.leave();
}

function writeTable(
  writer: BlockWriter,
  { header, rows }: Extract<MarkdownPiece, { type: 'table' }>,
  labels: Set<string>,
): void {
  const read: string[][] = [];
  const others: RootContent[] = [];
  for (let start = 0; start === 0 || start < rows.length; start += rowsAtOnce) {
    const nodes = parse([header, ...rows.slice(start, start + rowsAtOnce)].join('\n'), labels);
    const table = nodes.find((node) => node.type === 'table');
    if (table) read.push(...tableRows(table).slice(start === 0 ? 0 : 1));
    others.push(...nodes.filter((node) => node !== table));
  }
  writer.table(read, 1);
  writeAll(writer, others);
}

function tableRows(table: Table): string[][] {
  return table.children.map((row) => row.children.map((cell) => inlineText(cell.children)));
}

function writeHtml(writer: BlockWriter, html: string): void {
  for (const block of parseHtml(html)) writer.write(block);
}

/** Line breaks become `\n`, soft line ends become spaces. */
function inlineText(nodes: PhrasingContent[]): string {
  const flat = flatten(nodes);
  if (!flat.some((part) => part.type === 'html')) return flat.map((part) => part.text).join('');
  const html = flat.map((part) => (part.type === 'html' ? part.text : escapeHtml(part.text)));
  return parseHtml(html.join(''))
    .map((block) => block.text)
    .join('\n');
}

function flatten(nodes: PhrasingContent[]): { type: 'text' | 'html'; text: string }[] {
  const flat: { type: 'text' | 'html'; text: string }[] = [];
  const pending = nodes.toReversed();
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (node.type === 'html') flat.push({ type: 'html', text: node.value });
    else if (node.type === 'break') flat.push({ type: 'text', text: '\n' });
    else if ('value' in node) flat.push({ type: 'text', text: node.value.replaceAll('\n', ' ') });
    else if (node.type === 'footnoteReference') flat.push({ type: 'text', text: `[${node.label}]` });
    else if ('alt' in node) flat.push({ type: 'text', text: node.alt ?? '' });
    else if ('children' in node) for (const child of node.children.toReversed()) pending.push(child);
  }
  return flat;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\n', '<br>');
}

/** Labels of link definitions in the whole document: pieces are parsed one by one, but may reference any definition. */
function definedLabels(source: string): Set<string> {
  const definitions = source.matchAll(/^ {0,3}\[((?:[^[\]\\\n]|\\.){1,999})\]:/gm);
  return new Set(Array.from(definitions, ([, label]) => normalize(label!)));
}

function definitionsFor(piece: string, labels: Set<string>): string {
  if (labels.size === 0) return '';
  const used = new Set(Array.from(piece.matchAll(/\[([^[\]]{1,999})\]/g), ([, label]) => normalize(label!)));
  return [...used].map((label) => (labels.has(label) ? `[${label}]: #\n\n` : '')).join('');
}

function normalize(label: string): string {
  return label.replace(/\s+/g, ' ').trim().toLowerCase();
}
