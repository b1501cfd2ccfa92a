export type MarkdownPiece =
  | { type: 'markdown' | 'code' | 'html' | 'text'; text: string }
  | { type: 'table'; header: string; rows: string[] };

/** Longer lines (data, minified text) are kept as plain text. */
const longestLine = 8_000;

/** Characters after which a piece ends at the next top-level blank line, unindented line, or any line. */
const pieceEnds = { blank: 3_000, unindented: 6_000, any: 15_000 };

/** Nesting limit of quotes and lists on one line; deeper markers are dropped. */
const deepestNesting = 50;
const nesting = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))+/;
const marker = /[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))/y;

/**
 * Splits a document into pieces of some thousand characters: micromark takes quadratic time for much input. Code
 * fences, tables and raw HTML at the start of a line are separate pieces of any length, so that none of them is cut.
 */
export function splitMarkdown(source: string): MarkdownPiece[] {
  const lines = source.split('\n');
  const pieces: MarkdownPiece[] = [];
  let current: string[] = [];
  let length = 0;
  const endPiece = () => {
    if (current.length > 0) pieces.push({ type: 'markdown', text: current.join('\n') });
    current = [];
    length = 0;
  };

  for (let i = 0; i < lines.length;) {
    const own =
      frontMatterAt(lines, i) ?? fenceAt(lines, i) ?? rawHtmlAt(lines, i) ?? tableAt(lines, i) ?? longLineAt(lines, i);
    if (own) {
      endPiece();
      pieces.push(own.piece);
      i = own.end;
      continue;
    }
    const line = lines[i]!;
    if (mayEnd(length, line, current.at(-1))) endPiece();
    current.push(boundNesting(line));
    length += line.length + 1;
    i++;
  }
  endPiece();
  return pieces;
}

interface Own {
  piece: MarkdownPiece;
  end: number;
}

function mayEnd(length: number, line: string, before: string | undefined): boolean {
  if (length > pieceEnds.any) return true;
  if (/^\s/.test(line)) return false;
  return length > pieceEnds.unindented || (length > pieceEnds.blank && before?.trim() === '');
}

/** Front matter (YAML or TOML), as static site generators read it. */
function frontMatterAt(lines: string[], start: number): Own | undefined {
  const opening = /^(-{3}|\+{3})[ \t]*$/.exec(lines[start]!)?.[1];
  // Without a key on the next line, `---` is a thematic break.
  if (start > 0 || !opening || !/^(?:#|\[|["']?[\w.-]+["']?\s*[:=])/.test(lines[1] ?? '')) return undefined;
  const end = lines.findIndex((line, i) => i > 0 && line.trimEnd() === opening);
  return end === -1 ? undefined : { piece: { type: 'code', text: lines.slice(1, end).join('\n') }, end: end + 1 };
}

function fenceAt(lines: string[], start: number): Own | undefined {
  const opening = /^(?:(`{3,})[^`]*|(~{3,}).*)$/.exec(lines[start]!);
  if (!opening || lines[start]!.length > longestLine) return undefined;
  const fence = (opening[1] ?? opening[2])!;
  const closing = new RegExp(`^ {0,3}${fence}${fence[0]}*[ \\t]*$`);
  let end = start + 1;
  while (end < lines.length && !closing.test(lines[end]!)) end++;
  return { piece: { type: 'code', text: lines.slice(start + 1, end).join('\n') }, end: end + 1 };
}

function rawHtmlAt(lines: string[], start: number): Own | undefined {
  const opening = /^ {0,3}<(?:(?:script|pre|style|textarea)(?=[\s>]|$)|(!--))/i.exec(lines[start]!);
  if (!opening) return undefined;
  const closing = opening[1] ? /-->/ : /<\/(?:script|pre|style|textarea)>/i;
  let last = start;
  while (last < lines.length - 1 && !closing.test(lines[last]!)) last++;
  return { piece: { type: 'html', text: lines.slice(start, last + 1).join('\n') }, end: last + 1 };
}

function tableAt(lines: string[], start: number): Own | undefined {
  const [header, delimiter] = [lines[start]!, lines[start + 1] ?? ''];
  if (!isRow(header) || !isRow(delimiter) || !/^[ \t]*[|:-][ \t|:-]*$/.test(delimiter) || !delimiter.includes('-')) {
    return undefined;
  }
  if (countCells(header) !== countCells(delimiter)) return undefined;
  let end = start + 2;
  while (end < lines.length && isRow(lines[end]!)) end++;
  return { piece: { type: 'table', header: `${header}\n${delimiter}`, rows: lines.slice(start + 2, end) }, end };
}

function isRow(line: string): boolean {
  return (
    line.includes('|') && line.length <= longestLine && !/^(?:\s|[>#<]|[-*+]\s|\d{1,9}[.)]\s|`{3}|~{3})/.test(line)
  );
}

function countCells(row: string): number {
  return row
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/).length;
}

function longLineAt(lines: string[], start: number): Own | undefined {
  if (lines[start]!.length <= longestLine) return undefined;
  const text = lines[start]!.replace(/data:[\w.+/-]{1,100};base64,[\w+/=]+/g, '');
  return text.length > longestLine
    ? { piece: { type: 'text', text }, end: start + 1 }
    : { piece: { type: 'markdown', text }, end: start + 1 };
}

function boundNesting(line: string): string {
  const prefix = nesting.exec(line)?.[0] ?? '';
  marker.lastIndex = 0;
  let kept = 0;
  for (let depth = 0; depth < deepestNesting && marker.test(prefix + ' '); depth++) kept = marker.lastIndex;
  return kept < prefix.length ? line.slice(0, kept) + line.slice(prefix.length) : line;
}
