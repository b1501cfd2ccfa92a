import { SaxesParser } from 'saxes';
import { type Block, UnreadableDocument } from './block';
import { deepestValue } from './limits';
import { RecordWriter } from './record-writer';
import { refuseEntities } from './xml-entities';

/** Characters of a block after which the next element of a list of records begins a block. */
const shortestRecords = 300;

interface Element {
  name: string;
  text: string;
  /** Mixed content: the element has text of its own, so child elements are part of its sentence. */
  isProse: boolean;
  /** Written before the first child, or with the text of an element without children. */
  attributes?: string[][];
  hasChildren: boolean;
  /** Name of the child before, if it had children. */
  recordBefore?: string;
}

/**
 * XML parser: a block for each record, which is a child of the root or one of several equal elements with children. A
 * line for each element with text, below the names of its parents. Inline elements in mixed content are part of the
 * text. Documents that refer to entities of their own are refused, so that none is ever expanded.
 */
export function* parseXml(slices: Iterable<string>): Generator<Block> {
  const reader = new XmlReader();
  for (const slice of slices) {
    reader.write(slice);
    yield* reader.take();
  }
  reader.end();
  yield* reader.take();
}

class XmlReader {
  private readonly parser = new SaxesParser();
  private readonly open: Element[] = [];
  private readonly writer = new RecordWriter();

  constructor() {
    this.parser.on('error', (error) => {
      // References to undefined entities stay in the text unchanged.
      if (/undefined entity/.test(error.message)) return;
      throw new UnreadableDocument(
        `The file is not valid XML: ${error.message.replace(/^undefined:/, 'line ')} Correct it and upload it again.`,
      );
    });
    refuseEntities(this.parser);
    this.parser.on('opentag', ({ name, attributes }) => this.enter(name, attributes));
    this.parser.on('text', (text) => this.addText(text));
    this.parser.on('cdata', (text) => this.addText(text));
    this.parser.on('closetag', () => this.leave());
  }

  write(slice: string): void {
    this.parser.write(slice);
  }

  end(): void {
    this.parser.close();
    this.writer.endBlock();
  }

  take(): Block[] {
    return this.writer.take();
  }

  private enter(name: string, attributes: Record<string, string>): void {
    if (this.open.length >= deepestValue) {
      throw new UnreadableDocument(
        `The XML is nested deeper than ${deepestValue} levels. Simplify its structure and upload it again.`,
      );
    }
    const above = this.open.at(-1);
    if (above && !above.isProse) {
      this.writeAttributes();
      above.hasChildren = true;
      if (above.recordBefore === name && this.writer.blockLength > shortestRecords) this.writer.endBlock();
    }
    const written = Object.entries(attributes).filter(([attribute]) => !attribute.startsWith('xmlns'));
    this.open.push({
      name,
      text: '',
      isProse: false,
      hasChildren: false,
      attributes: above?.isProse || written.length === 0 ? undefined : written,
    });
  }

  private addText(text: string): void {
    const element = this.open.at(-1);
    if (!element) return;
    element.text += text;
    if (text.trim() !== '') element.isProse = true;
  }

  private leave(): void {
    const element = this.open.at(-1)!;
    const above = this.open.at(-2);
    if (above?.isProse) above.text += element.text;
    else this.writeText(element);
    this.open.pop();
    if (above) above.recordBefore = element.hasChildren && !element.isProse ? element.name : undefined;
    if (this.open.length === 1) this.writer.endBlock();
  }

  /** Attributes of an element without children follow its text: `depth: 4.5 (unit: m)`. */
  private writeText(element: Element): void {
    const text = spaced(element.text);
    const attributes = (element.attributes ?? []).map(([name, value]) => `${name}: ${spaced(value!)}`).join(', ');
    const line = text && attributes ? `${text} (${attributes})` : text || attributes;
    if (line !== '') this.writer.write(this.open.slice(1), line);
  }

  private writeAttributes(): void {
    const element = this.open.at(-1);
    for (const [name, value] of element?.attributes ?? [])
      if (spaced(value!) !== '') this.writer.write([...this.open.slice(1), name!], spaced(value!));
    if (element) element.attributes = undefined;
  }
}

function spaced(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
