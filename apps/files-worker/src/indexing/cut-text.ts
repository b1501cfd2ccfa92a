const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Characters beyond the cut that the segmenter sees, to decide whether a sentence ends there. */
const lookahead = 32;

/**
 * Cuts after a sentence. A sentence that is longer than the room is cut at a line end, else between words, else between
 * graphemes. Pieces are trimmed, never blank, and never split a surrogate pair.
 */
export function* cutProse(text: string, firstRoom: number, room: number): Generator<string> {
  let start = skipSpaces(text, 0);
  let available = firstRoom;
  while (start < text.length) {
    const end = start + cutAt(text, start, available);
    yield text.slice(start, end).trimEnd();
    start = skipSpaces(text, end);
    available = room;
  }
}

/** Joins lines, items or rows up to the room, and splits units that are longer. */
export function* packUnits(units: string[], firstRoom: number, room: number): Generator<string> {
  let available = firstRoom;
  let piece: string | undefined;
  for (const unit of units) {
    if (piece !== undefined && piece.length + 1 + unit.length <= available) {
      piece += `\n${unit}`;
      continue;
    }
    if (piece?.trim()) {
      yield trimBlankLines(piece);
      available = room;
    }
    piece = unit;
    if (unit.length <= available) continue;
    let before: string | undefined;
    for (const part of cutProse(unit, available, room)) {
      if (before !== undefined) {
        yield before;
        available = room;
      }
      before = part;
    }
    piece = before;
  }
  if (piece?.trim()) yield trimBlankLines(piece);
}

/** Keeps the indentation of the first line that has words. */
export function trimBlankLines(text: string): string {
  const start = text.lastIndexOf('\n', text.search(/\S/)) + 1;
  return text.slice(start).trimEnd();
}

/** Length of the piece from `start`. Segments only a window, since Intl.Segmenter is quadratic on long text. */
function cutAt(text: string, start: number, room: number): number {
  if (text.length - start <= room) return text.length - start;
  const source = text.slice(start, start + room + lookahead);
  const window = source.replaceAll('\n', ' ');
  const next = skipSpaces(window, room);
  const inSentence = next < window.length ? sentences.segment(window).containing(next)!.index : room;
  return (
    inSentence ||
    Math.max(0, source.lastIndexOf('\n', room)) ||
    lastSpace(window, room) ||
    graphemes.segment(window).containing(room)!.index ||
    (isLowSurrogate(window, room) ? room - 1 : room)
  );
}

function lastSpace(text: string, from: number): number {
  let i = from;
  while (i > 0 && !isSpace(text[i]!)) i--;
  return i;
}

function skipSpaces(text: string, from: number): number {
  let i = from;
  while (i < text.length && isSpace(text[i]!)) i++;
  return i;
}

function isSpace(character: string): boolean {
  return character.trim() === '';
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code < 0xe000;
}
