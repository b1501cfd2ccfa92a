import { type Block } from './block';
import { BlockWriter, type ListItem } from './block-writer';
import { formulaText } from './office-formulas';
import { mainPart, type Relation, relationId, relationsOf } from './office-relations';
import { wholeNumber } from './whole-number';
import { childElements, descendants, elementAt, parseXml, textOf, type XmlElement } from './xml-tree';
import { Archive, isOther } from './zip';

/** Placeholders repeated on every slide: date, footer, header, slide number and slide image. */
const repeated = new Set(['dt', 'ftr', 'hdr', 'sldNum', 'sldImg']);
const titles = new Set(['title', 'ctrTitle']);

/**
 * PowerPoint presentations (.pptx): one page per slide, including hidden slides. Speaker notes follow the slide
 * content.
 */
export async function parsePptx(bytes: Buffer): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'PowerPoint presentation (.pptx)' });
  const part = await mainPart(archive, 'ppt/presentation.xml');
  const relations = await relationsOf(archive, part);
  const tree = parseXml(await archive.read(part));
  if (tree.name !== 'presentation') throw isOther('PowerPoint presentation');
  const slides = childElements(elementAt(tree, 'sldIdLst'), 'sldId');

  const blocks: Block[] = [];
  for (const [index, slide] of slides.entries()) {
    const target = relations.find(({ id }) => id === relationId(slide))?.target;
    if (!target) continue;
    for (const block of await readSlide(archive, target)) blocks.push({ ...block, pageNumber: index + 1 });
  }
  return blocks;
}

async function readSlide(archive: Archive, part: string): Promise<Block[]> {
  const relations = await relationsOf(archive, part);
  const writer = new BlockWriter();
  const shapes = elementAt(parseXml(await archive.read(part)), 'cSld', 'spTree');
  const inOrder = shapesIn(shapes);
  const title = inOrder.find((shape) => titles.has(placeholder(shape) ?? ''));
  if (title) writer.heading(1, shapeText(title).replace(/\n+/g, ' '));
  for (const shape of inOrder) {
    if (shape !== title) await writeShape(writer, shape, { archive, relations });
  }

  const notes = relations.find(({ type }) => type === 'notesSlide');
  if (notes) writeNotes(writer, parseXml(await archive.read(notes.target)));
  return writer.blocks();
}

function shapesIn(container: XmlElement | undefined): XmlElement[] {
  return childElements(container).flatMap((child) => {
    if (child.name === 'grpSp') return shapesIn(child);
    if (child.name === 'AlternateContent') return shapesIn(shownOf(child));
    return ['sp', 'graphicFrame', 'cxnSp', 'pic'].includes(child.name) ? [child] : [];
  });
}

/** PowerPoint shows the first alternative that it supports; the first `Choice` is taken. */
function shownOf(alternatives: XmlElement): XmlElement | undefined {
  return elementAt(alternatives, 'Choice') ?? elementAt(alternatives, 'Fallback');
}

async function writeShape(
  writer: BlockWriter,
  shape: XmlElement,
  { archive, relations }: { archive: Archive; relations: Relation[] },
): Promise<void> {
  if (shape.name === 'graphicFrame') {
    for (const table of descendants(shape, 'tbl')) writeTable(writer, table);
    const diagram = descendants(shape, 'relIds')[0]?.attributes['r:dm'];
    const target = relations.find(({ id, type }) => type === 'diagramData' && id === diagram)?.target;
    if (target) writeDiagram(writer, parseXml(await archive.read(target)));
    return;
  }
  const kind = placeholder(shape);
  if (kind !== undefined && repeated.has(kind)) return;
  writeParagraphs(writer, shape, { bullets: kind === 'body' || kind === 'obj' });
}

/** Placeholder type of a shape; `obj` (slide content) is the default type. */
function placeholder(shape: XmlElement): string | undefined {
  const properties = childElements(shape).find(({ name }) => name.startsWith('nv'));
  const found = elementAt(properties, 'nvPr', 'ph');
  return found && (found.attributes.type ?? 'obj');
}

/** Paragraphs in content placeholders are bullets by default; elsewhere only with an explicit bullet. */
function writeParagraphs(writer: BlockWriter, shape: XmlElement, { bullets }: { bullets: boolean }): void {
  let items: ListItem[] = [];
  const numbers: number[] = [];
  const endList = () => {
    if (items.length > 0) writer.list(items);
    items = [];
    numbers.length = 0;
  };
  for (const paragraph of childElements(elementAt(shape, 'txBody'), 'p')) {
    const text = paragraphText(paragraph);
    if (text.trim() === '') continue;
    const properties = elementAt(paragraph, 'pPr');
    const numbered = elementAt(properties, 'buAutoNum');
    const isItem = numbered || elementAt(properties, 'buChar') || (bullets && !elementAt(properties, 'buNone'));
    if (!isItem) {
      endList();
      writer.write({ type: 'paragraph', text });
      continue;
    }
    const depth = wholeNumber(properties?.attributes.lvl, { least: 0, most: 8, otherwise: 0 });
    numbers.length = depth + 1;
    const first = wholeNumber(numbered?.attributes.startAt, { least: 0, otherwise: 1 });
    numbers[depth] = (numbers[depth] ?? first - 1) + 1;
    items.push({ depth, marker: numbered ? `${numbers[depth]}. ` : '- ', text });
  }
  endList();
}

function writeTable(writer: BlockWriter, table: XmlElement): void {
  const rows = childElements(table, 'tr').map((row) => childElements(row, 'tc').map(shapeText));
  const hasHeader = /^(?:1|true)$/.test(elementAt(table, 'tblPr')?.attributes.firstRow ?? '');
  writer.table(rows, hasHeader ? 1 : 0);
}

/** SmartArt: the texts are in a separate diagram part. */
function writeDiagram(writer: BlockWriter, diagram: XmlElement): void {
  const texts = descendants(diagram, 't').flatMap((body) => childElements(body, 'p').map(paragraphText));
  writer.list(texts.map((text) => ({ depth: 0, marker: '- ', text })));
}

function writeNotes(writer: BlockWriter, notes: XmlElement): void {
  for (const shape of shapesIn(elementAt(notes, 'cSld', 'spTree'))) {
    if (placeholder(shape) === 'body') writeParagraphs(writer, shape, { bullets: false });
  }
}

function shapeText(shape: XmlElement): string {
  return childElements(elementAt(shape, 'txBody'), 'p').map(paragraphText).join('\n').trim();
}

function paragraphText(paragraph: XmlElement): string {
  return runsText(paragraph).replaceAll('\v', '\n').trim();
}

function runsText(container: XmlElement | undefined): string {
  const parts = childElements(container).map((child) => {
    if (child.name === 'br') return '\n';
    if (child.name === 'm') return formulaText(child);
    if (child.name === 'AlternateContent') return runsText(shownOf(child));
    return child.name === 'r' || child.name === 'fld' ? descendants(child, 't').map(textOf).join('') : '';
  });
  return parts.join('');
}
