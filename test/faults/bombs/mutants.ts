import type * as fc from 'fast-check';
import { type Block, UnreadableDocument } from '@parley/documents/block';
import { parseDocument } from '@parley/documents/parse-document';
import { type Mutation, mutated, mutations } from './mutations';
import type { Structure } from './structures';

export interface Mutant {
  key: string;
  bytes: Buffer;
}

const types = ['title', 'subtitle', 'paragraph', 'list', 'table', 'code', 'blockquote', 'page'];

/** Half of the changes meet the largest part, which has most of the text. */
export function mutantsOf({ key, parts, build }: Structure): fc.Arbitrary<Mutant> {
  const largest = parts.reduce((most, part) => (part.text.length > most.text.length ? part : most));
  const partOf = ({ part }: Mutation) => (part % 2 === 0 ? largest : parts[part % parts.length]);
  return mutations.map((all) => {
    const texts = parts.map((part) => {
      const own = all.filter((mutation) => partOf(mutation) === part);
      return own.length > 0 ? mutated(part.text, part.syntax, own) : part.text;
    });
    return { key, bytes: build(texts) };
  });
}

/** Reads a document to its end. Throws unless it becomes valid blocks, or is refused with a reason. */
export async function readMutant({ key, bytes }: Mutant): Promise<void> {
  try {
    for await (const block of parseDocument({ bytes, contentType: 'application/octet-stream', key })) check(block);
  } catch (error) {
    if (error instanceof UnreadableDocument && error.message.length > 20) return;
    throw error;
  }
}

function check(block: Block): void {
  const { type, text, level, headerLines = 0, pageNumber } = block;
  const isHeading = type === 'title' || type === 'subtitle';
  const isValid =
    types.includes(type) &&
    text.trim() !== '' &&
    (!isHeading || (Number.isInteger(level) && level! >= 0 && level! <= 6)) &&
    Number.isInteger(headerLines) &&
    headerLines >= 0 &&
    (pageNumber === undefined || (Number.isInteger(pageNumber) && pageNumber >= 1));
  if (!isValid) throw new Error(`An invalid block: ${JSON.stringify({ ...block, text: text.slice(0, 100) })}`);
}
