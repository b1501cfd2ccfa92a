import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import type { PassageType } from '@parley/contracts/passages';
import { documentTerms } from '@parley/passages/lexicon';
import type { PassagePoint } from '@parley/passages/passage-index';
import { type ContentVersion, passageId } from './passages.repository';

/** What a text for the embedding model is made of. */
interface Titled {
  /** `chunk` when absent. */
  type?: PassageType;
  content: string;
  /** The titles above it, outermost first. */
  breadcrumb: string[];
}

const separator = '\n\n';
/**
 * Of a passage with its neighbours, since embedding servers refuse what does not fit their model. The default one takes 8,192
 * tokens: so many characters at one and a half for each token, of which English has four. A passage that is set has up to
 * 10,000 characters and is whole in it; only a very long summary is cut.
 */
const maxEmbeddedCharacters = 12_000;

/**
 * What is embedded of each passage: its breadcrumb unless that is turned off, and as many neighbours as are asked for and
 * have room, the nearest first.
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

/** The text with the neighbours on both sides, each side nearest first; where room ends, what is next to the text stays. */
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

/** So many characters at most, and no half of a surrogate pair. */
function beginning(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

/** Likewise. */
function ending(text: string, length: number): string {
  return text.slice(Math.max(0, text.length - length)).replace(/^[\uDC00-\uDFFF]/, '');
}

/** Of those that are of the same type: a summary has nothing to do with the chunk that it follows. */
function contents(neighbours: Titled[], { type = 'chunk' }: Titled): string[] {
  return neighbours.filter((neighbour) => (neighbour.type ?? 'chunk') === type).map(({ content }) => content);
}

/** Neighbours on each side that are embedded with a passage. */
export function contextLevels({ chunking }: IndexingConfiguration): number {
  return chunking?.embeddedContextLevels ?? 0;
}

/** The passage, after the titles above it when `embedBreadcrumb` is set. */
export function embeddedText({ breadcrumb, content }: Titled, options: { embedBreadcrumb: boolean }): string {
  if (!options.embedBreadcrumb) return content;
  const doubled = breadcrumb.findIndex((_, i) => `${content}\n`.startsWith(`${breadcrumb.slice(i).join(separator)}\n`));
  const above = doubled === -1 ? breadcrumb : breadcrumb.slice(0, doubled);
  return above.length === 0 ? content : `${above.join(' > ')}${separator}${content}`;
}

/** The point of a passage, which has the same id however often and by whomever it is made. */
export function toPoint(
  { fileId, contentVersion }: ContentVersion,
  tags: Record<string, string>,
  passage: { position: number; text: string; vector: Float32Array },
): PassagePoint {
  return {
    id: passageId(fileId, contentVersion, passage.position),
    fileId,
    contentVersion,
    vector: passage.vector,
    terms: documentTerms(passage.text),
    tags,
  };
}
