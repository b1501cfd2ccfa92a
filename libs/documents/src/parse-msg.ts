import { randomUUID } from 'node:crypto';
import type { Block } from './block';
import { decodeCodePage, encodingOfPage } from './code-page';
import { CompoundFile, openOffice, type Storage } from './compound-file';
import { decompressedRtf } from './compressed-rtf';
import { deepestMessage } from './limits';
import { parseEml } from './parse-eml';
import { htmlInRtf } from './rtf-html';
import { isCompoundFile } from './zip';

/** Identifiers of properties (MS-OXPROPS). */
const property = {
  subject: '0037',
  submitted: 0x0039,
  senderOfName: '0042',
  addressOfSenderOfName: '0065',
  recipientKind: 0x0c15,
  sender: '0c1a',
  senderAddress: '0c1f',
  delivered: 0x0e06,
  body: '1000',
  rtf: '1009',
  html: '1013',
  name: '3001',
  address: '3003',
  data: '3701',
  shortFileName: '3704',
  fileName: '3707',
  contentType: '370e',
  attachmentFlags: 0x3714,
  internetAddress: '39fe',
  internetCodePage: 0x3fde,
  codePage: 0x3ffd,
  senderInternetAddress: '5d01',
  internetAddressOfSenderOfName: '5d02',
  isHidden: 0x7ffe,
};
const shownInBody = 4;
const recipientKinds: { [kind: number]: string } = { 1: 'To', 2: 'Cc' };
const readable = /^(?:text\/(?:plain|html|calendar)|application\/(?:xhtml\+xml|ics)|message\/rfc822)$/;
const readableName = /\.(?:txt|text|log|x?html?|ics|eml)$/i;
/** Milliseconds between 1601, from which Windows counts, and 1970. */
const epochMs = 11_644_473_600_000;

/**
 * Outlook messages (.msg). They become a message in MIME, so that their content is read as that of .eml: of a body as HTML,
 * RTF and text the one that says most.
 */
export async function parseMsg(bytes: Buffer): Promise<Block[]> {
  const file = openOffice(bytes, { parts: ['__properties_version1.0'], expected: 'Outlook message' });
  return parseEml(new Message(file, file.root).toMime());
}

interface MimePart {
  type: string;
  content: Buffer;
  name?: string;
}

/** Properties of a message, recipient or attachment. */
class Properties {
  private readonly fixed: Buffer;

  constructor(
    private readonly file: CompoundFile,
    readonly storage: Storage,
    private readonly page: number | undefined,
  ) {
    this.fixed = file.find('__properties_version1.0', storage) ?? Buffer.alloc(0);
  }

  /** Empty when absent. */
  text(id: string): string {
    const wide = this.file.find(`__substg1.0_${id}001f`, this.storage);
    const text = wide?.toString('utf16le') ?? decodeCodePage(this.bytes(id, '001e'), this.page ?? 1252);
    return text.split('\0', 1)[0]!;
  }

  bytes(id: string, type = '0102'): Buffer {
    return this.file.find(`__substg1.0_${id}${type}`, this.storage) ?? Buffer.alloc(0);
  }

  number(id: number): number | undefined {
    return this.valueOf(id)?.readUInt32LE(0);
  }

  time(id: number): Date | undefined {
    const ticks = this.valueOf(id)?.readBigUInt64LE(0);
    const date = new Date(Number((ticks ?? 0n) / 10_000n) - epochMs);
    return ticks && !Number.isNaN(date.getTime()) && date.getUTCFullYear() < 10_000 ? date : undefined;
  }

  /** Records of 16 bytes, behind heads of different lengths, all of them multiples of 8. */
  private valueOf(id: number): Buffer | undefined {
    const { fixed } = this;
    for (let at = fixed.length % 16; at + 16 <= fixed.length; at += 16) {
      if (fixed.readUInt16LE(at + 2) === id) return fixed.subarray(at + 8, at + 16);
    }
    return undefined;
  }
}

class Message {
  private readonly page: number | undefined;
  private readonly own: Properties;

  constructor(
    private readonly file: CompoundFile,
    private readonly storage: Storage,
    private readonly depth = 0,
  ) {
    const fixed = new Properties(file, storage, undefined);
    this.page = fixed.number(property.codePage) ?? fixed.number(property.internetCodePage);
    this.own = new Properties(file, storage, this.page);
  }

  toMime(): Buffer {
    const attachments = this.children('__attach_version1.0_').flatMap((one) => this.attachment(one));
    return mimeOf(this.header(), [...this.body(), ...attachments.map(mimePart)], 'mixed');
  }

  private header(): string[] {
    const date = this.own.time(property.submitted) ?? this.own.time(property.delivered);
    const lines = [`Subject: ${encoded(this.own.text(property.subject))}`];
    const from = this.sender();
    if (from !== '') lines.push(`From: ${from}`);
    const recipients = this.children('__recip_version1.0_');
    for (const [kind, name] of Object.entries(recipientKinds)) {
      const ofKind = recipients.filter((one) => (one.number(property.recipientKind) ?? 1) === Number(kind));
      const all = ofKind.map((one) =>
        addressOf(one.text(property.name), [one.text(property.internetAddress), one.text(property.address)]),
      );
      const shown = all.filter((one) => one !== '');
      if (shown.length > 0) lines.push(`${name}: ${shown.join(', ')}`);
    }
    if (date) lines.push(`Date: ${date.toUTCString()}`);
    return lines;
  }

  private sender(): string {
    const { own } = this;
    const ofName = addressOf(own.text(property.senderOfName), [
      own.text(property.internetAddressOfSenderOfName),
      own.text(property.addressOfSenderOfName),
    ]);
    if (ofName !== '') return ofName;
    return addressOf(own.text(property.sender), [
      own.text(property.senderInternetAddress),
      own.text(property.senderAddress),
    ]);
  }

  private body(): Buffer[] {
    const parts: MimePart[] = [];
    const plain = this.own.text(property.body);
    if (plain !== '') parts.push({ type: 'text/plain; charset=utf-8', content: Buffer.from(plain) });
    const rich = this.html() ?? this.rtf();
    if (rich) parts.push(rich);
    return parts.length > 0 ? [mimeOf([], parts.map(mimePart), 'alternative')] : [];
  }

  private html(): MimePart | undefined {
    const text = this.own.text(property.html);
    if (text !== '') return { type: 'text/html; charset=utf-8', content: Buffer.from(text) };
    const content = this.own.bytes(property.html);
    if (content.length === 0) return undefined;
    const page = this.own.number(property.internetCodePage);
    return { type: page === undefined ? 'text/html' : `text/html; charset=${encodingOfPage(page)}`, content };
  }

  private rtf(): MimePart | undefined {
    const rtf = decompressedRtf(this.own.bytes(property.rtf));
    const html = htmlInRtf(rtf);
    if (html !== undefined) return { type: 'text/html; charset=utf-8', content: Buffer.from(html) };
    // RTF that Outlook made of a plain text says no more than that.
    const isOwn = rtf.length > 0 && !rtf.subarray(0, 1_000).includes('\\fromtext');
    return isOwn ? { type: 'text/rtf', content: rtf } : undefined;
  }

  private attachment(one: Properties): MimePart[] {
    const name = one.text(property.fileName) || one.text(property.shortFileName) || one.text(property.name);
    const inner = one.storage.storages.get(`__substg1.0_${property.data}000d`);
    if (inner?.streams.has('__properties_version1.0') && this.depth < deepestMessage) {
      return [{ type: 'message/rfc822', content: new Message(this.file, inner, this.depth + 1).toMime() }];
    }
    const isShown = ((one.number(property.attachmentFlags) ?? 0) & shownInBody) !== 0;
    if (isShown || (one.number(property.isHidden) ?? 0) !== 0) return [];
    const type = one.text(property.contentType).toLowerCase();
    const isReadable = readable.test(type) || readableName.test(name);
    const isMessage = /\.msg$/i.test(name) && this.depth < deepestMessage;
    const content = isReadable || isMessage ? one.bytes(property.data) : Buffer.alloc(0);
    if (isMessage && isCompoundFile(content)) {
      const file = new CompoundFile(content);
      const attached = file.has('__properties_version1.0') ? new Message(file, file.root, this.depth + 1) : undefined;
      if (attached) return [{ type: 'message/rfc822', content: attached.toMime() }];
    }
    return [{ type: readable.test(type) ? type : 'application/octet-stream', content, name: name || 'attachment' }];
  }

  private children(prefix: string): Properties[] {
    return [...this.storage.storages]
      .filter(([name]) => name.startsWith(prefix))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, storage]) => new Properties(this.file, storage, this.page));
  }
}

function addressOf(name: string, addresses: string[]): string {
  // Addresses within an organisation are paths of its directory, which tell readers nothing.
  const address = addresses.find((one) => /^[^\s<>@,;]+@[^\s<>@,;]+$/.test(one)) ?? '';
  if (address === '') return name === '' ? '' : encoded(name);
  return name === '' || name === address ? `<${address}>` : `${encoded(name)} <${address}>`;
}

function encoded(text: string): string {
  return `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
}

function mimePart({ type, content, name }: MimePart): Buffer {
  const disposition =
    name === undefined ? '' : `Content-Disposition: attachment; filename*=utf-8''${percentEncoded(name)}\r\n`;
  const isMessage = type === 'message/rfc822';
  const head = `Content-Type: ${type}\r\n${disposition}${isMessage ? '' : 'Content-Transfer-Encoding: base64\r\n'}\r\n`;
  const body = isMessage ? content : Buffer.from(content.toString('base64').replace(/.{76}/g, '$&\r\n'));
  return Buffer.concat([Buffer.from(head), body]);
}

function percentEncoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
}

function mimeOf(header: string[], parts: Buffer[], kind: 'mixed' | 'alternative'): Buffer {
  const boundary = randomUUID();
  const lines = [...header, 'MIME-Version: 1.0', `Content-Type: multipart/${kind}; boundary="${boundary}"`];
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`--${boundary}\r\n`), part, Buffer.from('\r\n')]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
}
