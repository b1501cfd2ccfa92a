import type { Block } from './block';
import { WordNumbering } from './word-numbering';
import { WordReader } from './word-reader';
import { WordStyles } from './word-styles';

/** Word documents in XML as of 2003. Footnotes and comments follow the paragraph that refers to them. */
export function parseWord2003(bytes: Buffer): Block[] {
  const styles = new WordStyles(bytes);
  const numbering = new WordNumbering(undefined, styles);
  const reader = new WordReader({ styles, numbering, embedded: new Map(), hasNote: () => false });
  reader.readPart(bytes);
  return reader.blocks();
}
