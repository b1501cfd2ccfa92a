import type { PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { type Block, UnreadableDocument } from './block';
import { mostFormBytes } from './limits';
import { withMapAccess } from './pdf-map-access';
import { childElements, elementAt, parseXml, textOf, type XmlElement } from './xml-tree';

/** Stream of pdfjs-dist. */
interface Packet {
  reset(): void;
  getBytes(): Uint8Array;
}

const packetNames = new Set(['xdp:xdp', 'template', 'datasets']);
const notFields = new Set(['template', 'subform', 'subformSet', 'area', 'pageSet', 'pageArea', 'exclGroup']);
const placeholder = /please wait|(?:viewer|reader)\b.{0,60}\b(?:cannot|not be able|unable|later|upgrade)/i;
const fewestPagesOfForm = 3;

/**
 * XFA form: its texts, and a line `caption: value` for each field with a value, without the lines whose values the
 * pages show. Fields are matched with the data by their names.
 */
export function xfaBlocks(packets: ReadonlyMap<string, XmlElement>, shown: string): Block[] {
  const template = packets.get('template');
  const datasets = packets.get('datasets');
  if (!template && !datasets) return [];
  const values = new Map<string, string[]>();
  collectValues(elementAt(datasets, 'data'), values);
  const reader = new FormReader(values, folded(shown));
  if (template) reader.read(template);
  return reader.finish();
}

/** Whether pages only ask for a program that shows XFA forms. */
export function isPlaceholder(pages: number, shown: string): boolean {
  return pages < fewestPagesOfForm && placeholder.test(shown);
}

/** XML of a form by the names of its packets. Call it first: pdfjs-dist reads the packets for the first annotation. */
export async function xfaPackets(pdf: PDFDocumentProxy): Promise<ReadonlyMap<string, XmlElement>> {
  const { info } = await pdf.getMetadata();
  if (!('IsXFAPresent' in info && info.IsXFAPresent)) return new Map();
  const streams = new Map<string, Packet>();
  const found: [string, Packet][] = [];
  await withMapAccess(
    {
      set(key, value) {
        if (typeof key === 'string' && packetNames.has(key) && isPacket(value)) found.push([key, value]);
      },
    },
    // Damaged annotations do not prevent reading the page text.
    () => pdf.getAnnotationsByType(new Set(), allPages(pdf)).catch(() => null),
  );
  for (const [name, stream] of found) streams.set(name, stream);
  const packets = new Map<string, XmlElement>();
  for (const [name, stream] of streams) {
    const root = xmlOf(stream);
    const parts = root?.name === 'xdp' ? childElements(root) : root ? [root] : [];
    for (const part of parts) if (packetNames.has(part.name)) packets.set(part.name, part);
    if (root?.name === 'data' && name === 'datasets') packets.set(name, { ...root, children: [root] });
  }
  return packets;
}

/** To skip: the packets are read before the first page. */
function allPages({ numPages }: PDFDocumentProxy): Set<number> {
  return new Set(Array.from({ length: numPages }, (_, index) => index));
}

function isPacket(value: unknown): value is Packet {
  return typeof value === 'object' && value !== null && 'getBytes' in value && 'reset' in value;
}

/** Undefined for the first packet of a divided form, which has no end, and for damaged ones: the pages are still read. */
function xmlOf(stream: Packet): XmlElement | undefined {
  stream.reset();
  const bytes = Buffer.from(stream.getBytes());
  if (bytes.length > mostFormBytes) return undefined;
  try {
    return parseXml(bytes);
  } catch (error) {
    if (error instanceof UnreadableDocument) return undefined;
    throw error;
  }
}

function collectValues(data: XmlElement | undefined, values: Map<string, string[]>): void {
  if (!data) return;
  const pending = childElements(data).toReversed();
  for (let element = pending.pop(); element; element = pending.pop()) {
    const inner = childElements(element);
    const isRich = inner.some(({ name }) => name === 'body' || name === 'html');
    if (inner.length > 0 && !isRich) {
      for (const child of inner.toReversed()) pending.push(child);
      continue;
    }
    const text = spaced(textOf(element));
    const same = values.get(element.name);
    if (same) same.push(text);
    else values.set(element.name, [text]);
  }
}

class FormReader {
  private readonly blocks: Block[] = [];
  private lines: string[] = [];

  constructor(
    private readonly values: Map<string, string[]>,
    private readonly shown: string,
  ) {}

  read(element: XmlElement): void {
    for (const child of childElements(element)) {
      if (child.name === 'draw') this.add(valueIn(child));
      else if (child.name === 'field') this.addField(child);
      else if (notFields.has(child.name)) {
        this.read(child);
        if (child.name === 'subform') this.endBlock();
      }
    }
  }

  /** Fields of the data that the form does not have follow with their names. */
  finish(): Block[] {
    for (const [name, values] of this.values) for (const value of values) this.addLine(name, value);
    this.endBlock();
    return this.blocks;
  }

  private addField(field: XmlElement): void {
    const { name = '' } = field.attributes;
    const caption = valueIn(elementAt(field, 'caption'));
    const bound = /([^.[\]$]+)(?:\[[^\]]*\])?$/.exec(elementAt(field, 'bind')?.attributes.ref ?? '')?.[1] ?? name;
    const value = this.values.get(bound)?.shift() ?? valueIn(field);
    this.addLine(caption || name, value, caption);
  }

  private addLine(label: string, value: string, otherwise = ''): void {
    if (value === '') return this.add(otherwise);
    if (!this.shown.includes(folded(value))) this.lines.push(label ? `${label.replace(/\s*:$/, '')}: ${value}` : value);
  }

  private add(text: string): void {
    if (text !== '' && !this.shown.includes(folded(text))) this.lines.push(text);
  }

  private endBlock(): void {
    if (this.lines.length > 0) this.blocks.push({ type: 'paragraph', text: this.lines.join('\n'), pageNumber: 1 });
    this.lines = [];
  }
}

/** Text of `<value>`: rich text is XHTML. */
function valueIn(element: XmlElement | undefined): string {
  const value = elementAt(element, 'value');
  const rich = elementAt(value, 'exData');
  if (value && childElements(value).some(({ name }) => name === 'image')) return '';
  return value ? spaced(rich ? paragraphs(rich) : textOf(value)) : '';
}

function paragraphs(element: XmlElement): string {
  const inner = element.children.map((child) => (typeof child === 'string' ? child : paragraphs(child))).join('');
  return /^(?:p|div|li|br|h\d)$/.test(element.name) ? `${inner} ` : inner;
}

function spaced(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Words between spaces, so that only whole words are found. */
function folded(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()} `;
}
