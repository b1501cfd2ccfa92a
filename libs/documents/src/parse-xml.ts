import { SaxesParser } from 'saxes';
import { type Block, UnreadableDocument } from './block';

const namesShown = 6;
const deepest = 1_000;
/** Characters after which a block ends at the next line. */
const longestBlock = 100_000;

interface Element {
  name: string;
  text: string;
  /** Mixed content: the element has text of its own, so child elements are part of its sentence. */
  isProse: boolean;
}

/**
 * XML parser: one block for each child of the root, one line `path: text` for each element with text and for each
 * attribute. Inline elements in mixed content are part of the text. Documents that declare entities are refused, so
 * that none is ever expanded.
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
  private ready: Block[] = [];
  private lines: string[] = [];
  private length = 0;

  constructor() {
    this.parser.on('error', (error) => {
      // References to undefined entities stay in the text unchanged.
      if (/undefined entity/.test(error.message)) return;
      throw new UnreadableDocument(
        `The file is not valid XML: ${error.message.replace(/^undefined:/, 'line ')} Correct it and upload it again.`,
      );
    });
    this.parser.on('doctype', (doctype) => {
      if (!/<!ENTITY/i.test(doctype)) return;
      throw new UnreadableDocument(
        'The XML declares entities, which are not expanded. Replace them by their text and upload the file again.',
      );
    });
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
    this.endBlock();
  }

  take(): Block[] {
    const { ready } = this;
    this.ready = [];
    return ready;
  }

  private enter(name: string, attributes: Record<string, string>): void {
    if (this.open.length >= deepest) {
      throw new UnreadableDocument(
        `The XML is nested deeper than ${deepest} levels. Simplify its structure and upload it again.`,
      );
    }
    this.open.push({ name, text: '', isProse: false });
    const above = this.open.at(-2);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (!attribute.startsWith('xmlns') && !above?.isProse) this.addLine(attribute, value);
    }
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
    else this.addLine(undefined, element.text);
    this.open.pop();
    if (this.open.length === 1 || this.length > longestBlock) this.endBlock();
  }

  private addLine(attribute: string | undefined, value: string): void {
    const text = value.replace(/\s+/g, ' ').trim();
    if (text === '') return;
    const names = this.open.slice(1).map(({ name }) => name);
    const path = [...names, ...(attribute ? [attribute] : [])].slice(-namesShown).join('.');
    const line = path === '' ? text : `${path}: ${text}`;
    this.lines.push(line);
    this.length += line.length + 1;
  }

  private endBlock(): void {
    if (this.lines.length > 0) this.ready.push({ type: 'paragraph', text: this.lines.join('\n') });
    this.lines = [];
    this.length = 0;
  }
}
