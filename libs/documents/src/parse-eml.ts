import { isUtf8 } from 'node:buffer';
import PostalMime, { type Address, type Attachment, decodeWords, type Email } from 'postal-mime';
import { type Block, UnreadableDocument } from './block';
import { BlockWriter } from './block-writer';
import { charsetInPage, decodeText } from './decode-text';
import { decoderOf } from './decoder';
import { detectEncoding } from './detect-encoding';
import { deepestMessage } from './limits';
import { parseCalendar } from './parse-calendar';
import { parseHtml } from './parse-html';
import { parseRtf } from './parse-rtf';
import { parseText } from './parse-text';
import { markupText } from './plain-text';
import { hasControls } from './text-controls';
import { markedEncoding, wideEncoding } from './wide-encoding';

/**
 * Plain text that is over three times longer than the HTML is used: such HTML only says "your mail client cannot show
 * this".
 */
const muchLonger = 3;
const lowestLevel = 6;

const mostHeaderBytes = 200_000;
/** Encoded words of RFC 2047. */
const encodedWord = /=\?([^?\s]{1,40})\?([bq])\?([^?]*)\?=/gi;
const adjacentWords = new RegExp(`${encodedWord.source}(?:\\s+${encodedWord.source})+`, 'gi');

/** Part of a message in postal-mime's tree, which has the bytes and the charset of each part; not in its types. */
interface Part {
  childNodes: Part[];
  content: ArrayBuffer | null;
  contentType: { multipart: string | false; parsed: Header };
  contentDisposition: { parsed: Header };
  contentTransferEncoding: { encoding: string };
  decodeFlowedText: (text: string, delSp: boolean) => string;
}

interface Header {
  value: string;
  params: Record<string, string | undefined>;
}

type ReadHtml = (html: string, options?: { xhtml: boolean }) => Block[];

/** Blocks of a part, and the blocks of what is attached within it. */
interface Content {
  body: Block[];
  attached: Block[];
  isHtml: boolean;
}

/** E-mail (.eml): subject, sender, recipients and date, body, attached texts, messages and invitations, names of attachments. */
export async function parseEml(bytes: Buffer): Promise<Block[]> {
  return new MessageReader(parseHtml).read(bytes);
}

/** The same texts, without the structure of the HTML. */
export async function mailText(bytes: Buffer): Promise<Block[]> {
  const blocks = await new MessageReader((html) => [...markupText(html)]).read(bytes);
  return [...parseText([blocks.map(({ text }) => text).join('\n\n')])];
}

class MessageReader {
  /** Invitations come twice: as an alternative of the text, and as an attachment. */
  private readonly invitations = new Set<string>();

  constructor(
    private readonly readHtml: ReadHtml,
    private readonly depth = 0,
  ) {}

  async read(bytes: Buffer): Promise<Block[]> {
    const wide = markedEncoding(bytes) ?? (hasControls(bytes) ? wideEncoding(bytes) : undefined);
    const { mail, root } = await parsed(wide ? Buffer.from(decoderOf(wide).decode(bytes)) : withReadableHeader(bytes));
    const { body, attached } = await this.contentOf(root, wide !== undefined);
    const writer = new BlockWriter();
    writer.heading(levelAt(this.depth), mail.subject ?? '');
    writer.write({ type: 'paragraph', text: envelope(mail) });
    for (const block of [...body, ...attached]) writer.write(block);
    writer.write({ type: 'list', text: mail.attachments.filter(isNamed).map(nameOf).join('\n') });
    return writer.blocks();
  }

  private async contentOf(part: Part, isTranscoded: boolean): Promise<Content> {
    if (!part.contentType.multipart) return this.leafContent(part, isTranscoded);
    const parts: Content[] = [];
    for (const child of part.childNodes) parts.push(await this.contentOf(child, isTranscoded));
    return {
      body: part.contentType.multipart === 'alternative' ? likeliest(parts) : parts.flatMap(({ body }) => body),
      attached: parts.flatMap(({ attached }) => attached),
      isHtml: parts.some(({ isHtml }) => isHtml),
    };
  }

  private async leafContent(part: Part, isTranscoded: boolean): Promise<Content> {
    const bytes = Buffer.from(part.content ?? new ArrayBuffer(0));
    const { value: disposition, params } = part.contentDisposition.parsed;
    const name = params.filename ?? part.contentType.parsed.params.name;
    const kind = kindOf(part.contentType.parsed.value, name);
    const nothing: Content = { body: [], attached: [], isHtml: false };
    if (!kind || bytes.length === 0) return nothing;
    if (kind === 'message') return { ...nothing, attached: await this.messageContent(bytes) };
    if (kind === 'rtf')
      return disposition === 'attachment' ? nothing : { ...nothing, body: parseRtf(bytes), isHtml: true };

    const isAttached =
      disposition === 'attachment' || !/^(?:text|application\/xhtml)/.test(part.contentType.parsed.value);
    try {
      const text = textOf(part, bytes, kind, isTranscoded);
      if (kind === 'calendar') return { ...nothing, attached: this.invitation(text) };
      const body =
        kind === 'text'
          ? [...parseText([text])]
          : this.readHtml(text, { xhtml: part.contentType.parsed.value.includes('xhtml') });
      if (!isAttached) return { body, attached: [], isHtml: kind === 'html' };
      const heading: Block[] = name
        ? [{ type: 'subtitle', text: decodeWords(name), level: levelAt(this.depth + 1) }]
        : [];
      return { ...nothing, attached: body.length > 0 ? [...heading, ...body] : [] };
    } catch (error) {
      // An attachment that is no text has its name in the list.
      if (isAttached && error instanceof UnreadableDocument) return nothing;
      throw error;
    }
  }

  private async messageContent(bytes: Buffer): Promise<Block[]> {
    if (this.depth >= deepestMessage) return [];
    return new MessageReader(this.readHtml, this.depth + 1).read(bytes);
  }

  private invitation(text: string): Block[] {
    const blocks = parseCalendar(text, levelAt(this.depth + 1));
    const content = JSON.stringify(blocks);
    if (this.invitations.has(content)) return [];
    this.invitations.add(content);
    return blocks;
  }
}

function levelAt(depth: number): number {
  return Math.min(depth + 1, lowestLevel);
}

async function parsed(bytes: Buffer): Promise<{ mail: Email; root: Part }> {
  const parser = new PostalMime({ forceRfc822Attachments: true });
  try {
    return { mail: await parser.parse(bytes), root: (parser as unknown as { root: Part }).root };
  } catch (error) {
    throw new UnreadableDocument(`The mail cannot be read: ${(error as Error).message}`);
  }
}

/**
 * Header lines as postal-mime reads them: in UTF-8, although old programs write other encodings without encoding them, and
 * no character split between two encoded words.
 */
function withReadableHeader(bytes: Buffer): Buffer {
  const length = /^[^]*?\r?\n\r?\n/.exec(bytes.toString('latin1', 0, mostHeaderBytes))?.[0].length ?? 0;
  const header = bytes.subarray(0, length);
  const encoding = isUtf8(header) ? undefined : detectEncoding(header);
  const text = encoding ? Buffer.from(decoderOf(encoding).decode(header)) : header;
  return Buffer.concat([withJoinedWords(text), bytes.subarray(length)]);
}

function withJoinedWords(header: Buffer): Buffer {
  if (!header.includes('=?')) return header;
  return Buffer.from(header.toString('latin1').replace(adjacentWords, joined), 'latin1');
}

function joined(words: string): string {
  const groups: { charset: string; bytes: Buffer }[] = [];
  for (const [, charset = '', coding = '', text = ''] of words.matchAll(encodedWord)) {
    const bytes = /b/i.test(coding) ? Buffer.from(text, 'base64') : quotedBytes(text);
    const last = groups.at(-1);
    if (last && last.charset === charset.toLowerCase()) last.bytes = Buffer.concat([last.bytes, bytes]);
    else groups.push({ charset: charset.toLowerCase(), bytes });
  }
  return groups.map(({ charset, bytes }) => `=?${charset}?B?${bytes.toString('base64')}?=`).join(' ');
}

function quotedBytes(text: string): Buffer {
  const characters = text
    .replaceAll('_', ' ')
    .replace(/=([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(characters, 'latin1');
}

function kindOf(type: string, name = ''): 'text' | 'html' | 'rtf' | 'calendar' | 'message' | undefined {
  if (type === 'text/rtf') return 'rtf';
  if (type === 'text/plain') return 'text';
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html';
  if (type === 'text/calendar' || type === 'application/ics') return 'calendar';
  if (type === 'message/rfc822' || type === 'message/global') return 'message';
  if (type !== 'application/octet-stream') return undefined;
  if (/\.(?:txt|text|log)$/i.test(name)) return 'text';
  if (/\.x?html?$/i.test(name)) return 'html';
  if (/\.ics$/i.test(name)) return 'calendar';
  return /\.eml$/i.test(name) ? 'message' : undefined;
}

function textOf(part: Part, bytes: Buffer, kind: string, isTranscoded: boolean): string {
  const { charset, format, delsp } = part.contentType.parsed.params;
  const isEncoded = /base64|quoted-printable/.test(part.contentTransferEncoding.encoding);
  // The message was UTF-16 as a whole, whatever its parts declare.
  const declared = isTranscoded && !isEncoded ? undefined : charset;
  const text = decodeText(bytes, declared ?? (kind === 'html' ? charsetInPage(bytes) : undefined));
  return format?.toLowerCase() === 'flowed' ? part.decodeFlowedText(text, delsp?.toLowerCase() === 'yes') : text;
}

/** HTML, unless the plain text says far more. */
function likeliest(alternatives: Content[]): Block[] {
  const last = (wanted: boolean) => alternatives.findLast(({ body, isHtml }) => body.length > 0 && isHtml === wanted);
  const shown = last(true)?.body ?? [];
  const plain = last(false)?.body ?? [];
  return lengthOf(shown) * muchLonger < lengthOf(plain) || shown.length === 0 ? plain : shown;
}

function envelope({ from, to, cc, date }: Email): string {
  const lines = [
    ['From', from && addressText(from)],
    ['To', to?.map(addressText).join(', ')],
    ['Cc', cc?.map(addressText).join(', ')],
    ['Date', date],
  ];
  return lines.flatMap(([name, text]) => (text ? [`${name}: ${text}`] : [])).join('\n');
}

function addressText(address: Address): string {
  if (address.group) return `${address.name}: ${address.group.map(addressText).join(', ')}`;
  if (!address.address) return address.name;
  return address.name ? `${address.name} <${address.address}>` : address.address;
}

/** Length without URLs, which only the plain text shows. */
function lengthOf(blocks: Block[]): number {
  return blocks.reduce((sum, { text }) => sum + text.replace(/https?:\/\/\S+/g, '').length, 0);
}

function isNamed({ filename, related }: Attachment): boolean {
  return Boolean(filename) && !related;
}

function nameOf({ filename }: Attachment): string {
  return `- ${filename}`;
}
