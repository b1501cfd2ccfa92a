import { SaxesParser } from 'saxes';
import { type OnReading, UnreadableDocument } from './block';
import { decodeText } from './decode-text';
import { deepestNesting } from './limits';
import { damaged } from './zip';

export interface XmlElement {
  name: string;
  /** Attributes by qualified name. */
  attributes: Record<string, string>;
  children: (XmlElement | string)[];
}

export interface XmlListener {
  /** `name` is the local name, `written` the qualified name. */
  open(name: string, attributes: Record<string, string>, written: string): void;
  text?(text: string): void;
  close?(name: string, written: string): void;
}

const pieceLength = 65_536;

/**
 * Streaming XML scanner (SAX). Throws UnreadableDocument when the XML declares entities, is nested deeper than
 * `deepestNesting` or is not well-formed. Entities are never expanded or fetched.
 */
export function scanXml(bytes: Buffer, listener: XmlListener, onReading?: OnReading): void {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  parser.on('doctype', (doctype) => {
    if (doctype.includes('<!ENTITY'))
      throw new UnreadableDocument(
        'The document contains XML that declares entities, which are not read. Save it again without them.',
      );
  });
  parser.on('opentag', ({ name, attributes }) => {
    depth++;
    if (depth > deepestNesting)
      throw new UnreadableDocument(
        `The document is nested more than ${deepestNesting} levels deep. Simplify its structure and upload it again.`,
      );
    listener.open(localName(name), attributes, name);
  });
  parser.on('closetag', ({ name }) => {
    depth--;
    listener.close?.(localName(name), name);
  });
  const onText = (text: string) => listener.text?.(text);
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('error', (error) => {
    throw damaged(`its XML is not well-formed (${error.message})`);
  });

  const source = decodeXml(bytes);
  for (let start = 0; start < source.length; start += pieceLength) {
    parser.write(source.slice(start, start + pieceLength));
    onReading?.(Math.min(1, (start + pieceLength) / source.length));
  }
  parser.close();
}

export function parseXml(bytes: Buffer, onReading?: OnReading): XmlElement {
  const top: XmlElement = { name: '', attributes: {}, children: [] };
  const open = [top];
  const listener: XmlListener = {
    open(name, attributes) {
      const element = { name, attributes, children: [] };
      open.at(-1)!.children.push(element);
      open.push(element);
    },
    text: (text) => void open.at(-1)!.children.push(text),
    close: () => void open.pop(),
  };
  scanXml(bytes, listener, onReading);
  return childElements(top)[0]!;
}

/**
 * Elements of these names in document order, one tree at a time: the memory of one, however large the document is.
 * Elements around them are passed over; elements of these names inside of another belong to its tree.
 * Returns the name of the root element.
 */
export function scanTrees(
  bytes: Buffer,
  names: ReadonlySet<string>,
  read: (tree: XmlElement) => void,
  onReading?: OnReading,
): string {
  const open: XmlElement[] = [];
  let root: string | undefined;
  const listener: XmlListener = {
    open(name, attributes) {
      root ??= name;
      if (open.length === 0 && !names.has(name)) return;
      const element = { name, attributes, children: [] };
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    text: (text) => void open.at(-1)?.children.push(text),
    close() {
      const closed = open.pop();
      if (closed && open.length === 0) read(closed);
    },
  };
  scanXml(bytes, listener, onReading);
  return root ?? '';
}

export function decodeXml(bytes: Buffer): string {
  const declaration = /^<\?xml\b[^>]*\bencoding\s*=\s*["']([\w.-]+)/.exec(bytes.toString('latin1', 0, 200));
  return decodeText(bytes, declaration?.[1]).replace(/^\uFEFF/, '');
}

export function childElements(element: XmlElement | undefined, name?: string): XmlElement[] {
  return (element?.children ?? []).filter(
    (child): child is XmlElement => typeof child !== 'string' && (name === undefined || child.name === name),
  );
}

export function elementAt(element: XmlElement | undefined, ...names: string[]): XmlElement | undefined {
  return names.reduce<XmlElement | undefined>((found, name) => childElements(found, name)[0], element);
}

/** Descendants by local name in document order, without those inside another match. */
export function descendants(element: XmlElement, name: string): XmlElement[] {
  return childElements(element).flatMap((child) => (child.name === name ? [child] : descendants(child, name)));
}

export function textOf(element: XmlElement): string {
  return element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
}

/** Attribute by its local name. */
export function attributeOf(element: XmlElement | undefined, name: string): string | undefined {
  for (const written in element?.attributes) if (localName(written) === name) return element.attributes[written];
  return undefined;
}

/** Attribute `val`, in which Word has most values. */
export function valueOf(element: XmlElement | undefined): string | undefined {
  return attributeOf(element, 'val');
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
