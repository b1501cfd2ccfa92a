import { type Block, type OnReading } from './block';
import { BlockWriter } from './block-writer';
import {
  hiddenProperties,
  paragraphText,
  shapesIn,
  shapeText,
  writeAlternativeText,
  writeParagraphs,
} from './drawing-text';
import { commentBlock } from './office-comments';
import { embeddedBlocks, graphicBlocks } from './office-embedded';
import { mainPart, type Relation, relationId, relationsOf } from './office-relations';
import { childElements, descendants, elementAt, parseXml, textOf, type XmlElement } from './xml-tree';
import { Archive, isOther } from './zip';

/** Placeholders of slides whose text a program fills in: date, slide number, slide image. */
const filledIn = new Set(['dt', 'sldNum', 'sldImg']);
/** Placeholders that each slide repeats. */
const repeated = new Set(['ftr', 'hdr']);
const titles = new Set(['title', 'ctrTitle']);

/**
 * PowerPoint presentations (.pptx): one page per slide, including hidden slides. Speaker notes and comments follow the
 * slide content. A footer is read on the first slide that has it.
 */
export async function parsePptx(bytes: Buffer, onReading?: OnReading): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'PowerPoint presentation (.pptx)' });
  const part = await mainPart(archive, 'ppt/presentation.xml');
  const relations = await relationsOf(archive, part);
  const tree = parseXml(await archive.read(part));
  if (tree.name !== 'presentation') throw isOther('PowerPoint presentation');
  const slides = childElements(elementAt(tree, 'sldIdLst'), 'sldId');
  const reader = new SlideReader(archive, await authorsOf(archive, relations));

  const blocks: Block[] = [];
  for (const [index, slide] of slides.entries()) {
    const target = relations.find(({ id }) => id === relationId(slide))?.target;
    if (!target) continue;
    for (const block of await reader.read(target)) blocks.push({ ...block, pageNumber: index + 1 });
    onReading?.((index + 1) / slides.length);
  }
  return blocks;
}

class SlideReader {
  private readonly seenFooters = new Set<string>();

  constructor(
    private readonly archive: Archive,
    private readonly authors: ReadonlyMap<string | undefined, string | undefined>,
  ) {}

  async read(part: string): Promise<Block[]> {
    const relations = await relationsOf(this.archive, part);
    const embedded = await embeddedBlocks(this.archive, relations);
    const writer = new BlockWriter();
    const shapes = shapesIn(elementAt(parseXml(await this.archive.read(part)), 'cSld', 'spTree'));
    const title = shapes.find((shape) => titles.has(placeholder(shape) ?? ''));
    if (title) writer.heading(1, shapeText(title).replace(/\n+/g, ' '));
    for (const shape of shapes) if (shape !== title) this.writeShape(writer, shape, embedded);

    const notes = relations.find(({ type }) => type === 'notesSlide');
    if (notes) writeNotes(writer, parseXml(await this.archive.read(notes.target)));
    for (const { type, target } of relations) {
      if (type === 'comments' && this.archive.has(target)) {
        this.writeComments(writer, parseXml(await this.archive.read(target)));
      }
    }
    return writer.blocks();
  }

  private writeShape(writer: BlockWriter, shape: XmlElement, embedded: ReadonlyMap<string, Block[]>): void {
    const kind = placeholder(shape) ?? '';
    if (filledIn.has(kind)) return;
    if (repeated.has(kind)) {
      const text = shapeText(shape);
      if (this.seenFooters.has(text)) return;
      this.seenFooters.add(text);
    }
    writeAlternativeText(writer, shape);
    if (shape.name === 'graphicFrame') {
      for (const table of descendants(shape, 'tbl')) writeTable(writer, table);
      for (const block of graphicBlocks(shape, embedded)) writer.write(block);
    } else writeParagraphs(writer, shape, { bullets: kind === 'body' || kind === 'obj' });
  }

  /** Comments and their replies, in the older and the newer form. */
  private writeComments(writer: BlockWriter, list: XmlElement): void {
    for (const comment of childElements(list, 'cm')) {
      for (const one of [comment, ...childElements(elementAt(comment, 'replyLst'), 'reply')]) {
        const paragraphs = childElements(elementAt(one, 'txBody'), 'p').map(paragraphText);
        const text = [...childElements(one, 'text').map(textOf), ...paragraphs].join('\n');
        writer.write(commentBlock({ author: this.authors.get(one.attributes['authorId']), text }));
      }
    }
  }
}

async function authorsOf(
  archive: Archive,
  relations: Relation[],
): Promise<Map<string | undefined, string | undefined>> {
  const authors = new Map<string | undefined, string | undefined>();
  for (const { type, target } of relations) {
    if ((type !== 'commentAuthors' && type !== 'authors') || !archive.has(target)) continue;
    for (const { attributes } of childElements(parseXml(await archive.read(target)))) {
      authors.set(attributes['id'], attributes['name']);
    }
  }
  return authors;
}

/** Placeholder type of a shape; `obj` (slide content) is the default type. */
function placeholder(shape: XmlElement): string | undefined {
  const found = elementAt(hiddenProperties(shape), 'nvPr', 'ph');
  return found && (found.attributes.type ?? 'obj');
}

function writeTable(writer: BlockWriter, table: XmlElement): void {
  const rows = childElements(table, 'tr').map((row) => childElements(row, 'tc').map(shapeText));
  const hasHeader = /^(?:1|true)$/.test(elementAt(table, 'tblPr')?.attributes.firstRow ?? '');
  writer.table(rows, hasHeader ? 1 : 0);
}

function writeNotes(writer: BlockWriter, notes: XmlElement): void {
  for (const shape of shapesIn(elementAt(notes, 'cSld', 'spTree'))) {
    if (placeholder(shape) === 'body') writeParagraphs(writer, shape, { bullets: false });
  }
}
