import { isUtf8 } from 'node:buffer';
import { bodyEncodingHeader } from '@parley/contracts/runtime/webhooks';

interface Message {
  headers: Record<string, string>;
  body?: string;
}

const base64 = /^[\d+/A-Za-z]*={0,2}$/;

/** Body of a message: text as it is, other bytes as base64 with the header that says so. */
export function bodyOf(bytes: Buffer): Required<Message> {
  return isUtf8(bytes)
    ? { headers: {}, body: bytes.toString() }
    : { headers: { [bodyEncodingHeader]: 'base64' }, body: bytes.toString('base64') };
}

/** Bytes that the body stands for; text stays text. */
export function contentOf({ headers, body = '' }: Message): string | Buffer {
  return isBase64(headers) ? Buffer.from(body, 'base64') : body;
}

export function contentBytes({ headers, body = '' }: Message): number {
  return Buffer.byteLength(body, isBase64(headers) ? 'base64' : 'utf8');
}

/** Why the body is not in the encoding that its header names. */
export function bodyProblem({ headers, body = '' }: Message): string | undefined {
  const encoding = headers[bodyEncodingHeader];
  if (encoding === undefined) return undefined;
  if (encoding !== 'base64') return `its header ${bodyEncodingHeader} is not "base64".`;
  return base64.test(body) ? undefined : `its body is not base64, as its header ${bodyEncodingHeader} says.`;
}

function isBase64(headers: Message['headers']): boolean {
  return headers[bodyEncodingHeader] === 'base64';
}
