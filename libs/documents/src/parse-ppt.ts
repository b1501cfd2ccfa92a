import { type Block, UnreadableDocument } from './block';
import { BlockWriter } from './block-writer';
import { openOffice } from './compound-file';
import { shapeText, writeParagraphs } from './drawing-text';
import { childOf, type PowerPointRecord, recordAt } from './powerpoint-records';
import type { XmlElement } from './xml-tree';
import { damaged, protectedByPassword } from './zip';

const record = {
  document: 1000,
  slide: 1006,
  slideHead: 1007,
  notes: 1008,
  slideReference: 1011,
  drawing: 1036,
  placeholder: 3011,
  outlineText: 3998,
  textKind: 3999,
  text: 4000,
  textStyle: 4001,
  westernText: 4008,
  string: 4026,
  margins: 4057,
  slideList: 4080,
  edit: 4085,
  directory: 6002,
  shapes: 0xf002,
  group: 0xf003,
  shape: 0xf004,
  textBox: 0xf00d,
  anchor: 0xf00f,
  data: 0xf011,
  properties: 0xf122,
};
const encrypted = 0xf3d1c4df;
const slides = 0;
const notes = 2;
const tableProperty = 0x39f;
const footer = 2;
/** Kinds of texts. */
const titles = new Set([0, 6]);
const bullets = new Set([1, 7, 8]);
/** Placeholders that a program fills in: date, slide number. */
const filledIn = new Set([7, 8]);

interface SlideText {
  kind: number;
  text: string;
  styles?: Buffer;
}

interface SlideReference {
  persist: number;
  id: number;
  texts: SlideText[];
}

/**
 * PowerPoint presentations of PowerPoint 97 to 2003 (.ppt): one page per slide, each followed by its notes. A footer is
 * read on the first slide that has it. Tables have no header row, which the format does not know.
 */
export function parsePpt(bytes: Buffer): Block[] {
  const file = openOffice(bytes, { parts: ['PowerPoint Document'], expected: 'PowerPoint presentation' });
  const user = file.find('Current User');
  if (!user || user.length < 20) {
    throw new UnreadableDocument(
      'The presentation has the format of PowerPoint 95 or older, or is damaged: save it as PowerPoint presentation ' +
        '(.pptx), and upload that.',
    );
  }
  if (user.readUInt32LE(12) === encrypted) throw new UnreadableDocument(protectedByPassword);
  return new PresentationReader(file.get('PowerPoint Document')).read(user.readUInt32LE(16));
}

class PresentationReader {
  /** Positions of slides and other objects by their numbers. */
  private readonly positions = new Map<number, number>();
  private readonly taken = new Set<number>();
  private readonly seenFooters = new Set<string>();

  constructor(private readonly stream: Buffer) {}

  read(lastEdit: number): Block[] {
    const document = this.object(this.readEdits(lastEdit), record.document);
    if (!document) throw damaged('it has no document');
    const lists = document.children.filter(({ type }) => type === record.slideList);
    const notesById = new Map(referencesIn(lists, notes).map((one) => [one.id, one]));
    const blocks: Block[] = [];
    for (const [index, reference] of referencesIn(lists, slides).entries()) {
      const slide = this.object(reference.persist, record.slide);
      if (!slide) continue;
      const writer = new BlockWriter();
      this.writeSlide(writer, slide, reference.texts);
      const head = childOf(slide, record.slideHead)?.content;
      const ofSlide = head && head.length >= 20 ? notesById.get(head.readUInt32LE(16)) : undefined;
      const page = ofSlide && this.object(ofSlide.persist, record.notes);
      if (page) this.writeNotes(writer, page, ofSlide.texts);
      for (const block of writer.blocks()) blocks.push({ ...block, pageNumber: index + 1 });
    }
    return blocks;
  }

  /** Edits from the last one back; returns the number of the document. */
  private readEdits(lastEdit: number): number {
    let document: number | undefined;
    const met = new Set<number>();
    for (let at = lastEdit; !met.has(at);) {
      met.add(at);
      const edit = recordAt(this.stream, at);
      if (edit?.type !== record.edit || edit.content.length < 20) break;
      document ??= edit.content.readUInt32LE(16);
      if (edit.content.length >= 32) throw new UnreadableDocument(protectedByPassword);
      this.readDirectory(edit.content.readUInt32LE(12));
      at = edit.content.readUInt32LE(8);
    }
    if (document === undefined) throw damaged('it has no list of its slides');
    return document;
  }

  /** Later edits come first and win. */
  private readDirectory(position: number): void {
    const directory = recordAt(this.stream, position);
    if (directory?.type !== record.directory) return;
    const { content } = directory;
    for (let at = 0; at + 4 <= content.length;) {
      const head = content.readUInt32LE(at);
      at += 4;
      for (let i = 0; i < head >>> 20 && at + 4 <= content.length; i++, at += 4) {
        const number = (head & 0xf_ffff) + i;
        if (!this.positions.has(number)) this.positions.set(number, content.readUInt32LE(at));
      }
    }
  }

  /** Each object belongs to one slide, so it is read once. */
  private object(number: number, type: number): PowerPointRecord | undefined {
    const position = this.positions.get(number);
    if (position === undefined || this.taken.has(position)) return undefined;
    this.taken.add(position);
    const found = recordAt(this.stream, position);
    return found?.type === type ? found : undefined;
  }

  private writeSlide(writer: BlockWriter, slide: PowerPointRecord, outline: SlideText[]): void {
    const drawing = childOf(slide, record.drawing, record.shapes, record.group);
    const shapes = (drawing?.children ?? [])
      .map((child) => shapeOf(child, outline))
      .filter((shape) => shape !== undefined);
    const title = shapes.find((shape) => 'text' in shape && titles.has(shape.text.kind));
    if (title && 'text' in title) writer.heading(1, title.text.text.replace(/[\r\v]+/g, ' '));
    for (const shape of shapes) if (shape !== title) this.writeShape(writer, shape);
    this.writeFooter(writer, slide);
  }

  private writeShape(writer: BlockWriter, shape: Shape): void {
    if ('rows' in shape) writer.table(shape.rows, 0);
    else if ('group' in shape) for (const inner of shape.group) this.writeShape(writer, inner);
    else if (!filledIn.has(shape.placeholder ?? -1)) {
      writeParagraphs(writer, elementOf(shape.text), { bullets: bullets.has(shape.text.kind) });
    }
  }

  private writeNotes(writer: BlockWriter, page: PowerPointRecord, outline: SlideText[]): void {
    const drawing = childOf(page, record.drawing, record.shapes, record.group);
    for (const child of drawing?.children ?? []) {
      const shape = shapeOf(child, outline);
      if (shape && 'text' in shape && shape.text.kind === 2) {
        writeParagraphs(writer, elementOf(shape.text), { bullets: false });
      }
    }
  }

  private writeFooter(writer: BlockWriter, slide: PowerPointRecord): void {
    for (const margins of slide.children) {
      if (margins.type !== record.margins) continue;
      for (const { type, instance, content } of margins.children) {
        const text = content.toString('utf16le');
        if (type !== record.string || instance !== footer || this.seenFooters.has(text)) continue;
        this.seenFooters.add(text);
        writer.write({ type: 'paragraph', text });
      }
    }
  }
}

/** Slides or notes in their order, with the texts that the outline of the document has of them. */
function referencesIn(lists: PowerPointRecord[], kind: number): SlideReference[] {
  const references: SlideReference[] = [];
  for (const { instance, children } of lists) {
    if (instance !== kind) continue;
    for (const child of children) {
      if (child.type === record.slideReference && child.content.length >= 16) {
        references.push({ persist: child.content.readUInt32LE(0), id: child.content.readUInt32LE(12), texts: [] });
      } else addText(references.at(-1)?.texts ?? [], child);
    }
  }
  return references;
}

function addText(texts: SlideText[], { type, content }: PowerPointRecord): void {
  if (type === record.textKind) texts.push({ kind: content[0] ?? 4, text: '' });
  const last = texts.at(-1);
  if (!last) return;
  if (type === record.text) last.text = content.toString('utf16le');
  else if (type === record.westernText) last.text = content.toString('latin1');
  else if (type === record.textStyle) last.styles = content;
}

type Shape = { text: SlideText; placeholder?: number; anchor?: Buffer } | { rows: string[][] } | { group: Shape[] };

function shapeOf(drawn: PowerPointRecord, outline: SlideText[]): Shape | undefined {
  if (drawn.type === record.group) {
    const group = drawn.children.map((child) => shapeOf(child, outline)).filter((shape) => shape !== undefined);
    return isTable(drawn) ? { rows: rowsOf(group) } : { group };
  }
  if (drawn.type !== record.shape) return undefined;
  const texts: SlideText[] = [];
  for (const child of childOf(drawn, record.textBox)?.children ?? []) {
    if (child.type === record.outlineText && child.content.length >= 4) {
      const referred = outline[child.content.readUInt32LE(0)];
      if (referred) texts.push(referred);
    } else addText(texts, child);
  }
  const text = texts.find((one) => one.text !== '');
  if (!text) return undefined;
  return {
    text,
    placeholder: childOf(drawn, record.data, record.placeholder)?.content[4],
    anchor: childOf(drawn, record.anchor)?.content,
  };
}

function isTable(group: PowerPointRecord): boolean {
  const head = group.children.find(({ type }) => type === record.shape);
  return (head?.children ?? []).some(({ type, instance, content }) => {
    if (type !== record.properties) return false;
    for (let i = 0; i < instance && 6 * i + 2 <= content.length; i++) {
      if ((content.readUInt16LE(6 * i) & 0x3fff) === tableProperty) return true;
    }
    return false;
  });
}

/** Cells by the places of their upper left corners. */
function rowsOf(cells: Shape[]): string[][] {
  const placed = cells.flatMap((cell) => {
    if (!('text' in cell) || !cell.anchor || cell.anchor.length < 16) return [];
    return [
      { left: cell.anchor.readInt32LE(0), top: cell.anchor.readInt32LE(4), text: shapeText(elementOf(cell.text)) },
    ];
  });
  const columns = [...new Set(placed.map(({ left }) => left))].toSorted((a, b) => a - b);
  const rows = Map.groupBy(placed, ({ top }) => top);
  return [...rows.keys()]
    .toSorted((a, b) => a - b)
    .map((top) => {
      const texts = new Map(rows.get(top)!.map(({ left, text }) => [left, text]));
      return columns.map((left) => texts.get(left) ?? '');
    });
}

/** Text as the shape of a newer presentation that has the same paragraphs. */
function elementOf({ text, styles }: SlideText): XmlElement {
  const runs = styles ? paragraphRuns(styles, text.length) : [];
  let position = 0;
  let run = 0;
  const paragraphs = text.split('\r').map((line): XmlElement => {
    while (run < runs.length && runs[run]!.end <= position) run++;
    position += line.length + 1;
    const { level = 0, bullet } = runs[run] ?? {};
    const mark = bullet === undefined ? [] : [element(bullet ? 'buChar' : 'buNone')];
    const properties = { name: 'pPr', attributes: { lvl: String(level) }, children: mark };
    return {
      name: 'p',
      attributes: {},
      children: [properties, { ...element('r'), children: [{ ...element('t'), children: [line] }] }],
    };
  });
  return { ...element('sp'), children: [{ ...element('txBody'), children: paragraphs }] };
}

function element(name: string): XmlElement {
  return { name, attributes: {}, children: [] };
}

interface ParagraphRun {
  end: number;
  level: number;
  bullet?: boolean;
}

/** Bytes of the properties of a paragraph, by the bits that say which it has, in their order. */
const propertyBytes: [mask: number, bytes: number][] = [
  [1 << 7, 2],
  [1 << 4, 2],
  [1 << 6, 2],
  [1 << 5, 4],
  [1 << 11, 2],
  [1 << 12, 2],
  [1 << 13, 2],
  [1 << 14, 2],
  [1 << 8, 2],
  [1 << 10, 2],
  [1 << 15, 2],
];
const bulletFlags = 0xf;
const tabStops = 1 << 20;
const laterBytes: [mask: number, bytes: number][] = [
  [1 << 16, 2],
  [7 << 17, 2],
  [1 << 21, 2],
];

function paragraphRuns(styles: Buffer, length: number): ParagraphRun[] {
  const runs: ParagraphRun[] = [];
  let end = 0;
  for (let at = 0; end <= length && at + 10 <= styles.length;) {
    end += styles.readUInt32LE(at);
    const level = Math.min(8, styles.readUInt16LE(at + 4));
    const mask = styles.readUInt32LE(at + 6);
    at += 10;
    let bullet: boolean | undefined;
    if (mask & bulletFlags) {
      if (mask & 1 && at < styles.length) bullet = (styles[at]! & 1) === 1;
      at += 2;
    }
    const skip = (sizes: [number, number][]) =>
      sizes.reduce((sum, [bits, bytes]) => sum + (mask & bits ? bytes : 0), 0);
    at += skip(propertyBytes);
    if (mask & tabStops && at + 2 <= styles.length) at += 2 + 4 * styles.readUInt16LE(at);
    at += skip(laterBytes);
    runs.push({ end, level, bullet });
  }
  return runs;
}
