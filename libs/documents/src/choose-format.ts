import { extname } from 'node:path';
import { type Source, UnreadableDocument } from './block';
import { type Format, formats, plainText } from './formats';
import { looksLikeText, sniff, type Sniffed } from './sniff';

/** Types that say nothing about the content; the one of MPEG video is what `.ts` is taken for. */
const vague = new Set(['', 'binary/octet-stream', 'video/mp2t']);
const zip = 'application/zip';
/** Old office files, and new ones that are encrypted: the parser of the new ones says which. */
const compound = 'application/x-cfb';

/**
 * The format that both the name and the content of a file agree on. The extension of the key decides when the content
 * type says no more than "plain text" or "for an application", and then the content. Throws UnreadableDocument when the content is something else than it
 * is called, or cannot be indexed.
 */
export async function chooseFormat({ bytes, contentType, key }: Source): Promise<Format> {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  const named = ofExtension(extname(key).toLowerCase());
  const isVague = vague.has(type) || (type.startsWith('application/') && !ofType(type));
  const stated = isVague || type === 'text/plain' ? (named ?? ofType(type)) : ofType(type);
  const sniffed = await sniff(bytes);
  const found = sniffed && (ofType(sniffed.contentType) ?? ofExtension(sniffed.extension));

  // Windows with Office sends CSV as Excel.
  if (named?.isText && stated && !stated.isText && !sniffed && looksLikeText(bytes)) return named;
  if (stated) {
    if (!sniffed || found === stated || agrees(stated, found, sniffed, bytes)) return stated;
    throw new UnreadableDocument(
      `The file says that it is ${stated.name}${isVague ? '' : ` (${type})`}, but its content is ` +
        `${found ? `${found.name} (${sniffed.contentType})` : sniffed.contentType}. ` +
        'Upload it with the name and the content type of what it is.',
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

/** Text formats look alike from outside, and archives are told apart by what is in them. */
function agrees(stated: Format, found: Format | undefined, { contentType }: Sniffed, bytes: Buffer): boolean {
  if (stated.isText) return found?.isText ?? false;
  if (contentType === compound) return true;
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
