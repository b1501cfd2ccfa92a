import PostalMime, { type Address, type Attachment, type Email } from 'postal-mime';
import { type Block, UnreadableDocument } from './block';
import { BlockWriter } from './block-writer';
import { parseHtml } from './parse-html';
import { parseText } from './parse-text';
import { markupText } from './plain-text';

/**
 * Plain text that is over three times longer than the HTML is used: such HTML only says "your mail client cannot show
 * this".
 */
const muchLonger = 3;

/** E-mail (.eml): subject, sender, recipients and date, body, and the names of attachments. */
export async function parseEml(bytes: Buffer): Promise<Block[]> {
  const mail = await read(bytes);
  const writer = new BlockWriter();
  writer.heading(1, mail.subject ?? '');
  writer.write({ type: 'paragraph', text: envelope(mail) });
  for (const block of body(mail)) writer.write(block);
  writer.write({ type: 'list', text: mail.attachments.filter(isNamed).map(nameOf).join('\n') });
  return writer.blocks();
}

/** The same texts, without the structure of the HTML. */
export async function mailText(bytes: Buffer): Promise<Block[]> {
  const mail = await read(bytes);
  const attachments = mail.attachments.filter(isNamed).map(nameOf).join('\n');
  const shown = body(mail, (html) => [...markupText(html)]);
  return [...parseText([`${mail.subject ?? ''}\n\n${envelope(mail)}`]), ...shown, ...parseText([attachments])];
}

async function read(bytes: Buffer): Promise<Email> {
  try {
    return await PostalMime.parse(bytes);
  } catch (error) {
    throw new UnreadableDocument(`The mail cannot be read: ${(error as Error).message}`);
  }
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
  return address.name ? `${address.name} <${address.address}>` : (address.address ?? '');
}

function body({ html, text }: Email, readHtml: (html: string) => Block[] = parseHtml): Block[] {
  const shown = html ? readHtml(html) : [];
  const plain = [...parseText([text ?? ''])];
  return lengthOf(shown) * muchLonger < lengthOf(plain) || shown.length === 0 ? plain : shown;
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
