import { posix } from 'node:path';
import { importedBlocks } from './alt-chunk';
import { type Block, type OnReading } from './block';
import { commentBlock, quoted } from './office-comments';
import { embeddedBlocks } from './office-embedded';
import { mainPart, type Relation, relationsOf } from './office-relations';
import { WordNumbering } from './word-numbering';
import { WordReader } from './word-reader';
import { WordStyles } from './word-styles';
import { attributeOf, scanTrees, type XmlElement } from './xml-tree';
import { Archive, damaged, isOther } from './zip';

/**
 * Word documents (.docx): headers, then the text with numbers as printed, footnotes, footers and comments. A header or
 * footer that several sections have is read once. Text deleted by tracked changes is left out.
 */
export async function parseDocx(bytes: Buffer, onReading?: OnReading): Promise<Block[]> {
  return readWord(bytes, { depth: 0, onReading });
}

interface ReadingOptions {
  depth: number;
  within?: Archive;
  onReading?: OnReading;
}

async function readWord(bytes: Buffer, { depth, within, onReading }: ReadingOptions): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'Word document (.docx)', within });
  const main = await mainPart(archive, 'word/document.xml');
  if (!archive.has(main)) throw damaged('it lacks its main document');
  const relations = await relationsOf(archive, main);
  const read = async (type: string) => {
    const related = relations.find((relation) => relation.type === type)?.target;
    // Some programs write no relations.
    const target = related ?? `${posix.dirname(main)}/${type}.xml`;
    return archive.has(target) ? await archive.read(target) : undefined;
  };
  const styles = new WordStyles(await read('styles'));
  const numbering = new WordNumbering(await read('numbering'), styles);
  const notes = notesIn([await read('footnotes'), await read('endnotes')]);
  const embedded = new Map([
    ...(await embeddedBlocks(archive, relations)),
    ...(await importedBlocks(archive, relations, { depth, readWord })),
  ]);
  const body = new WordReader({ styles, numbering, embedded, hasNote: (key) => notes.has(key) });
  if (body.readPart(await archive.read(main), onReading) !== 'document') throw isOther('Word document');
  body.readNotes(notes);

  const margins = new Margins(archive, styles);
  const headers = await margins.read(relations, 'header');
  const footers = await margins.read(relations, 'footer');
  const comments = await read('comments');
  return [...headers, ...body.blocks(), ...footers, ...(comments ? commentBlocks(comments, { styles, body }) : [])];
}

/** Headers and footers: sections and kinds of pages repeat most of their text. */
class Margins {
  private readonly seen = new Set<string>();

  constructor(
    private readonly archive: Archive,
    private readonly styles: WordStyles,
  ) {}

  async read(relations: Relation[], type: 'header' | 'footer'): Promise<Block[]> {
    const all: Block[] = [];
    for (const { target } of relations.filter((relation) => relation.type === type)) {
      if (!this.archive.has(target)) continue;
      const embedded = await embeddedBlocks(this.archive, await relationsOf(this.archive, target));
      const numbering = new WordNumbering(undefined, this.styles);
      const reader = new WordReader(
        { styles: this.styles, numbering, embedded, hasNote: () => false },
        { pageNumbers: false },
      );
      reader.readPart(await this.archive.read(target));
      for (const block of reader.blocks()) {
        if (this.seen.has(block.text)) continue;
        this.seen.add(block.text);
        all.push(block.level ? { type: 'paragraph', text: block.text } : block);
      }
    }
    return all;
  }
}

/** Notes by `footnote 1`; their separators are no notes. */
function notesIn(parts: (Buffer | undefined)[]): Map<string, XmlElement> {
  const notes = new Map<string, XmlElement>();
  for (const part of parts) {
    if (!part) continue;
    scanTrees(part, new Set(['footnote', 'endnote']), (note) => {
      if (!/eparator|continuationNotice/.test(attributeOf(note, 'type') ?? '')) {
        notes.set(`${note.name} ${attributeOf(note, 'id')}`, note);
      }
    });
  }
  return notes;
}

function commentBlocks(part: Buffer, { styles, body }: { styles: WordStyles; body: WordReader }): Block[] {
  const blocks: Block[] = [];
  scanTrees(part, new Set(['comment']), (comment) => {
    const numbering = new WordNumbering(undefined, styles);
    const reader = new WordReader({ styles, numbering, embedded: new Map(), hasNote: () => false });
    reader.readAll(comment);
    const text = reader
      .blocks()
      .map((block) => block.text)
      .join('\n');
    const on = quoted(body.commented.get(attributeOf(comment, 'id') ?? '') ?? '');
    blocks.push(commentBlock({ author: attributeOf(comment, 'author'), on, text }));
  });
  return blocks.filter(({ text }) => text !== '');
}
