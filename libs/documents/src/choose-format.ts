import { extname } from 'node:path';
import { type Source, UnreadableDocument } from './block';
import { type Format, formats, plainText } from './formats';
import { noFormat } from './reader-versions';
import { looksLikeText, sniff, type Sniffed } from './sniff';

/** Content types that say nothing about the content. `video/mp2t` is the type that systems guess for `.ts` files. */
const vague = new Set(['', 'binary/octet-stream', 'video/mp2t']);
const zip = 'application/zip';
/** OLE compound file of no known program, or an encrypted document. Its reader says which. */
const compound = 'application/x-cfb';

/**
 * Content sniffing: picks the format that the file's name and its content agree on. The content type decides first.
 * When it is vague (`text/plain` or an unknown `application/*`), the extension of the key decides, then the content.
 * Throws UnreadableDocument when the content contradicts the declared type or cannot be indexed.
 */
export async function chooseFormat({ bytes, contentType, key }: Source): Promise<Format> {
  const { type, named, isVague, stated } = statedBy(contentType, extname(key).toLowerCase());
  const sniffed = await sniff(bytes);
  const found = sniffed && (ofType(sniffed.contentType) ?? ofExtension(sniffed.extension));

  // Windows with Excel installed uploads CSV files as `application/vnd.ms-excel`.
  if (named?.isText && stated && !stated.isText && !sniffed && looksLikeText(bytes)) return named;
  if (stated) {
    if (!sniffed || found === stated || agrees(stated, found, sniffed, bytes)) return stated;
    throw new UnreadableDocument(
      `The file is declared as ${stated.name}${isVague ? '' : ` (${type})`}, but its content is ` +
        `${found ? `${found.name} (${sniffed.contentType})` : sniffed.contentType}. ` +
        'Upload it with a name and content type that match its content.',
    );
  }
  if (isVague && found) return found;
  if (isVague && !sniffed && looksLikeText(bytes)) return plainText;
  if (found) {
    throw new UnreadableDocument(
      `The file was sent as ${type}, but its content is ${found.name}: upload it with the content type ` +
        `${found.contentTypes[0]}.`,
    );
  }
  throw new UnreadableDocument(
    `Files of type ${sniffed?.contentType ?? (type || '(none)')} cannot be indexed. Upload one of these, with its ` +
      `content type: ${formats.map(({ name, contentTypes }) => `${name} (${contentTypes[0]})`).join(', ')}.`,
  );
}

/** Name of the format that type and extension say, without a look at the content. */
export function statedFormat(contentType: string, extension: string): string {
  return statedBy(contentType, extension).stated?.name ?? noFormat;
}

/** Name of a format by its name in any case, or by an extension with or without its dot. */
export function formatByName(text: string): string | undefined {
  const wanted = text.toLowerCase();
  const named = formatNames().find((name) => name.toLowerCase() === wanted);
  return named ?? (ofExtension(wanted) ?? ofExtension(`.${wanted}`))?.name;
}

export function formatNames(): string[] {
  return [...formats.map(({ name }) => name), noFormat];
}

function statedBy(contentType: string, extension: string) {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  const named = ofExtension(extension);
  const isVague = vague.has(type) || (type.startsWith('application/') && !ofType(type));
  const stated = isVague || type === 'text/plain' ? (named ?? ofType(type)) : ofType(type);
  return { type, named, isVague, stated };
}

/** Sniffing cannot distinguish text formats. ZIP-based formats are distinguished by their entries. */
function agrees(stated: Format, found: Format | undefined, { contentType }: Sniffed, bytes: Buffer): boolean {
  if (stated.isText) return found?.isText ?? false;
  if (contentType === compound || stated.within?.includes(contentType)) return true;
  return contentType === zip && (bytes.includes('[Content_Types].xml') || bytes.includes('META-INF/'));
}

function ofExtension(extension: string): Format | undefined {
  return extension === '' ? undefined : formats.find((format) => format.extensions.includes(extension));
}

function ofType(type: string): Format | undefined {
  const exact = formats.find((format) => format.contentTypes.includes(type));
  if (exact) return exact;
  if (type.endsWith('+xml')) return ofType('application/xml');
  if (type.endsWith('+json')) return ofType('application/json');
  return type.startsWith('text/') ? plainText : undefined;
}
