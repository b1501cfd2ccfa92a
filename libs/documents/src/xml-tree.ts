import { SaxesParser } from 'saxes';
import { UnreadableDocument } from './block';
import { decodeText } from './decode-text';
import { deepestNesting } from './limits';
import { damaged } from './zip';

export interface XmlElement {
  /** Without its prefix. */
  name: string;
  /** By their names as they are written. */
  attributes: Record<string, string>;
  children: (XmlElement | string)[];
}

export interface XmlListener {
  /** Names of elements come without their prefix, and then as they are written. */
  open(name: string, attributes: Record<string, string>, written: string): void;
  text?(text: string): void;
  close?(name: string, written: string): void;
}

const pieceLength = 65_536;

/**
 * Tells what an XML document holds, in order. Entities other than XML's own are neither expanded nor fetched: a document
 * that declares some is refused, and so is one that is nested deeper than `deepestNesting` or is not well-formed.
 */
export function scanXml(bytes: Buffer, listener: XmlListener): void {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  parser.on('doctype', (doctype) => {
    if (doctype.includes('<!ENTITY')) throw new UnreadableDocument('XML that declares entities is not read.');
  });
  parser.on('opentag', ({ name, attributes }) => {
    depth++;
    if (depth > deepestNesting)
      throw new UnreadableDocument(`The document is nested more than ${deepestNesting} levels deep.`);
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
  for (let start = 0; start < source.length; start += pieceLength)
    parser.write(source.slice(start, start + pieceLength));
  parser.close();
}

export function parseXml(bytes: Buffer): XmlElement {
  const top: XmlElement = { name: '', attributes: {}, children: [] };
  const open = [top];
  scanXml(bytes, {
    open(name, attributes) {
      const element = { name, attributes, children: [] };
      open.at(-1)!.children.push(element);
      open.push(element);
    },
    text: (text) => void open.at(-1)!.children.push(text),
    close: () => void open.pop(),
  });
  return childElements(top)[0]!;
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

/** The first element on a path of names. */
export function elementAt(element: XmlElement | undefined, ...names: string[]): XmlElement | undefined {
  return names.reduce<XmlElement | undefined>((found, name) => childElements(found, name)[0], element);
}

/** All of that name, in the order of the document, at any depth; not those inside of one that was found. */
export function descendants(element: XmlElement, name: string): XmlElement[] {
  return childElements(element).flatMap((child) => (child.name === name ? [child] : descendants(child, name)));
}

export function textOf(element: XmlElement): string {
  return element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
