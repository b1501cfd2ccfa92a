import { eventLoopPauses } from '@parley/background/yield-to-event-loop';
import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import type { PassageType } from '@parley/contracts/passages';
import { documentTerms } from '@parley/passages/lexicon';
import type { PassagePoint } from '@parley/passages/passage-index';
import { type ContentVersion, passageId } from './passages.repository';

interface Titled {
  /** Default: `chunk`. */
  type?: PassageType;
  content: string;
  breadcrumb: string[];
}

const separator = '\n\n';
/**
 * Maximum length of a passage with its neighbours, since embedding servers reject text that exceeds the context of
 * their model. The default model takes 8,192 tokens: this many characters at 1.5 for each token, while English has
 * four. A passage that is set has up to 10,000 characters and fits; only a very long summary is truncated.
 */
export const maxEmbeddedCharacters = 12_000;

/**
 * Text that is embedded for each passage: its breadcrumb unless disabled, and the configured number of neighbours as
 * far as they fit, nearest first.
 */
export function embeddedTexts(
  passages: Titled[],
  before: Titled[],
  after: Titled[],
  { chunking }: IndexingConfiguration,
): string[] {
  const levels = contextLevels({ chunking });
  const embedBreadcrumb = chunking?.embedBreadcrumb ?? true;
  const all = [...before, ...passages, ...after];
  return passages.map((passage, i) => {
    const own = beginning(embeddedText(passage, { embedBreadcrumb }), maxEmbeddedCharacters);
    const place = before.length + i;
    const preceding = contents(all.slice(Math.max(0, place - levels), place), passage);
    const following = contents(all.slice(place + 1, place + 1 + levels), passage);
    return between(preceding.reverse(), own, following);
  });
}

/** Adds the neighbours on both sides, nearest first. At the limit, keeps the end that adjoins the text. */
function between(preceding: string[], own: string, following: string[]): string {
  let text = own;
  const room = () => maxEmbeddedCharacters - text.length - separator.length;
  for (let n = 0; n < Math.max(preceding.length, following.length); n++) {
    const [above, below] = [preceding[n], following[n]];
    if (above && room() > 0) text = `${ending(above, room())}${separator}${text}`;
    if (below && room() > 0) text = `${text}${separator}${beginning(below, room())}`;
  }
  return text;
}

/** At most `length` characters; never splits a surrogate pair. */
function beginning(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

/** At most `length` characters from the end; never splits a surrogate pair. */
function ending(text: string, length: number): string {
  return text.slice(Math.max(0, text.length - length)).replace(/^[\uDC00-\uDFFF]/, '');
}

/** Neighbours of the same type only: a summary is unrelated to the chunk that it follows. */
function contents(neighbours: Titled[], { type = 'chunk' }: Titled): string[] {
  return neighbours.filter((neighbour) => (neighbour.type ?? 'chunk') === type).map(({ content }) => content);
}

export function contextLevels({ chunking }: IndexingConfiguration): number {
  return chunking?.embeddedContextLevels ?? 0;
}

/** Leaves out headings that the passage itself begins with. */
export function embeddedText({ breadcrumb, content }: Titled, options: { embedBreadcrumb: boolean }): string {
  if (!options.embedBreadcrumb) return content;
  const doubled = breadcrumb.findIndex((_, i) => `${content}\n`.startsWith(`${breadcrumb.slice(i).join(separator)}\n`));
  const above = doubled === -1 ? breadcrumb : breadcrumb.slice(0, doubled);
  return above.length === 0 ? content : `${above.join(' > ')}${separator}${content}`;
}

export interface EmbeddedPassage {
  position: number;
  text: string;
  vector: Float32Array;
}

/** Yields to the event loop: the terms of one text of Chinese take up to 10 ms of processor time. */
export async function toPoints(
  { fileId, contentVersion }: ContentVersion,
  tags: Record<string, string>,
  passages: EmbeddedPassage[],
): Promise<PassagePoint[]> {
  const pause = eventLoopPauses();
  const points: PassagePoint[] = [];
  for (const { position, text, vector } of passages) {
    const id = passageId(fileId, contentVersion, position);
    points.push({ id, fileId, contentVersion, vector, terms: documentTerms(text), tags });
    await pause();
  }
  return points;
}
