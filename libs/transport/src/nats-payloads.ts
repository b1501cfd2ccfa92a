import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorCode, headers as natsHeaders, type Msg, type MsgHdrs, NatsError } from 'nats';
import { Semaphore } from '@parley/background/semaphore';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { isMissing, type NatsLink } from './nats-connection';
import { JsonLines } from '@parley/background/json-lines';
import { LargeRequestSemaphore } from './large-requests';
import type { Message, RequestMessage } from './message';
import { bodySubject, bodyRequest } from './subjects';
import { bodyStreamConfig } from './streams';
import { tooLarge, withDeadline } from './driver';

/** Header of a payload by reference: the subject of its pieces and their number. */
const payloadHeader = 'parley-payload';
const tenantHeader = 'parley-tenant';
/** Header of a request whose body is JsonLines. */
const linesHeader = 'parley-lines';
const payloadSubject = /^(bodies\.[a-z-]+\.[\da-f-]{36}) (\d{1,4})$/;
const lineBreak = 10;
/** Header that the server adds to messages that it reads from a stream. */
const streamHeader = 'Nats-Stream';
/** Reserve for headers and protocol in one NATS message. */
const headroomBytes = 16 * 1024;
/** Answers by reference fetched at once: each takes several times its size while it is parsed. */
const maxReferencedAtOnce = 2;

export interface PayloadTiming {
  /** Longest wait for a payload by reference. */
  fetchTimeoutMs: number;
  /** Longest wait for one piece. */
  questionTimeoutMs: number;
  /** Longest replication delay of the stream, in which a piece may be missing. */
  copyingMs: number;
}

export const defaultPayloadTiming: PayloadTiming = {
  fetchTimeoutMs: 10_000,
  questionTimeoutMs: 5_000,
  copyingMs: 2_000,
};

/** Payload of a NATS message: head, line break and body. */
export interface Payload {
  data: Uint8Array;
  headers?: MsgHdrs;
  /** Subjects of the pieces of a payload by reference. */
  pieces?: string[];
}

/** Encodes messages as NATS payloads. Large ones pass by reference, through a stream. */
export class NatsPayloads {
  private readonly largeRequests = new LargeRequestSemaphore();
  private readonly answers = new Semaphore(maxReferencedAtOnce);

  constructor(
    private readonly link: NatsLink,
    private readonly maxBodyBytes: number,
    private readonly replicas: number,
    private readonly timing: PayloadTiming,
  ) {}

  /**
   * At once, unless the payload passes by reference. Throws PayloadTooLarge above the platform's body limit.
   * @param receiver is the only app that may read it
   */
  pack(what: 'request' | 'answer', receiver: string, message: RequestMessage): Payload | Promise<Payload> {
    const { head, body, tenant } = message;
    const bodyBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    if (bodyBytes > this.maxBodyBytes) throw tooLarge(what, this.maxBodyBytes);
    const isLines = typeof body !== 'string';
    const parts = isLines ? [Buffer.from(`${head}\n`), ...body.parts] : [encode({ head, body })];
    const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
    if (length > this.pieceBytes) return this.refer(receiver, parts, headersOf(isLines), tenant);
    return isLines ? { data: Buffer.concat(parts), headers: headersOf(isLines) } : { data: parts[0]! };
  }

  /** Stores the payload in pieces that the receiver fetches. */
  private async refer(
    receiver: string,
    parts: Uint8Array[],
    headers: MsgHdrs,
    tenant: string | undefined,
  ): Promise<Payload> {
    const subject = bodySubject(receiver, randomUUID());
    const pieces = await this.put(subject, parts);
    headers.set(payloadHeader, `${subject} ${pieces.length}`);
    if (tenant !== undefined) headers.set(tenantHeader, tenant);
    return { data: Buffer.alloc(0), headers, pieces };
  }

  /**
   * Deletes the pieces of a payload that was read. The sender does so, because readers may not write to these subjects:
   * an app that reads and writes them could make the server send any message to any subject.
   */
  release({ pieces = [] }: Payload): void {
    if (this.link.isUp) pieces.forEach((piece) => this.link.connection.publish(piece));
  }

  /** Deletes the pieces after the fetch timeout, when nobody confirms the read. */
  releaseLater(payload: Payload): void {
    if (payload.pieces) setTimeout(() => this.release(payload), this.timing.fetchTimeoutMs).unref();
  }

  /**
   * Parses and answers a request. A payload by reference first waits in the fair queue of all tenants and keeps its
   * slot until it is answered; after the longest wait it is rejected with 503 before any of it is fetched.
   */
  async answered<T>(message: Msg, answer: (request: RequestMessage) => Promise<T>): Promise<T> {
    const reference = referenceOf(message);
    const isLines = readHeaders(message)?.has(linesHeader) ?? false;
    if (!reference) return answer(decodeRequest([message.data], isLines));
    return this.largeRequests.run(message.headers?.get(tenantHeader) ?? '', async () => {
      const pieces = await withDeadline(message.subject, this.take(reference), this.timing.fetchTimeoutMs);
      return answer(decodeRequest(pieces, isLines));
    });
  }

  /**
   * Parses an answer. At most two payloads by reference are fetched at once. Throws OperationTimeout when one cannot be
   * fetched, because the operation has run already.
   */
  readAnswer(subject: string, message: Msg): Message | Promise<Message> {
    const reference = referenceOf(message);
    return reference ? this.fetchAnswer(subject, reference) : decode(message.data);
  }

  private async fetchAnswer(subject: string, reference: string): Promise<Message> {
    const late = new AbortController();
    const fetched = this.answers.run(() => this.take(reference), late.signal);
    try {
      return decode(Buffer.concat(await withDeadline(subject, fetched, this.timing.fetchTimeoutMs)));
    } catch (error) {
      throw new ApiError(
        'OperationTimeout',
        `The answer of ${subject} was lost. The operation may have been done: check before you try again.`,
        { cause: error },
      );
    } finally {
      late.abort();
    }
  }

  private get pieceBytes(): number {
    return (this.link.connection.info?.max_payload ?? 1024 * 1024) - headroomBytes;
  }

  /** Creates the stream again when the server has lost it with its disk. */
  private async put(subject: string, parts: Uint8Array[]): Promise<string[]> {
    try {
      return await this.write(subject, parts);
    } catch (error) {
      if (!isMissing(error)) throw error;
      const { streams } = await this.link.connection.jetstreamManager({ checkAPI: false });
      await streams.add(bodyStreamConfig(this.replicas));
      return this.write(subject, parts);
    }
  }

  private async write(subject: string, parts: Uint8Array[]): Promise<string[]> {
    const stream = this.link.connection.jetstream();
    const pieces: string[] = [];
    for (const data of piecesOf(parts, this.pieceBytes)) {
      const piece = `${subject}.${pieces.length}`;
      await stream.publish(piece, data);
      pieces.push(piece);
    }
    return pieces;
  }

  private async take(reference: string): Promise<Uint8Array[]> {
    const [, subject, count] = payloadSubject.exec(reference) ?? [];
    if (!subject) throw new ApiError('InvalidPayload', 'The message on the bus has a malformed reference to its body.');
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (let index = 0; index < Number(count); index += 1) {
      const piece = await this.read(`${subject}.${index}`);
      size += piece.length;
      if (size > this.maxBodyBytes + headroomBytes) throw tooLarge('message', this.maxBodyBytes);
      pieces.push(piece);
    }
    return pieces;
  }

  /**
   * Retries until the replication delay is over: in a cluster, the replica that answers may be behind. A server without
   * the stream sends no answer.
   */
  private async read(subject: string): Promise<Uint8Array> {
    const { questionTimeoutMs, copyingMs } = this.timing;
    const request = () => this.link.connection.request(bodyRequest(subject), '', { timeout: questionTimeoutMs });
    for (const deadline = Date.now() + copyingMs; ; await sleep(50)) {
      try {
        const { data, headers } = await request();
        if (data.length > 0 && !headers?.code) return data;
      } catch (error) {
        if (!isMissing(error) && !isTimeout(error)) throw error;
      }
      if (Date.now() > deadline)
        throw unavailable('The body of a large message is no longer stored. Try again in a moment.');
    }
  }
}

function headersOf(isLines: boolean): MsgHdrs {
  const headers = natsHeaders();
  if (isLines) headers.set(linesHeader, 'yes');
  return headers;
}

function referenceOf(message: Msg): string | undefined {
  const headers = readHeaders(message);
  // Security: an app that reads a stream may make the server deliver its messages to any subject.
  if (headers?.has(streamHeader))
    throw new ApiError(
      'InvalidPayload',
      'The message on the bus comes from a stream: send it to the subject directly.',
    );
  return headers?.get(payloadHeader) || undefined;
}

function isTimeout(error: unknown): boolean {
  return error instanceof NatsError && error.code === String(ErrorCode.Timeout);
}

/** Throws InvalidPayload for malformed headers. */
export function readHeaders(message: Msg): MsgHdrs | undefined {
  try {
    return message.headers;
  } catch (error) {
    throw new ApiError('InvalidPayload', 'The headers of the message on the bus are malformed.', { cause: error });
  }
}

export function encode({ head, body }: Message): Uint8Array {
  return Buffer.from(`${head}\n${body}`);
}

/** Never throws, as `decode`. */
function decodeRequest(pieces: Uint8Array[], isLines: boolean): RequestMessage {
  if (!isLines) return decode(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
  const [first = Buffer.alloc(0), ...rest] = pieces;
  const end = first.indexOf(lineBreak);
  const start = end < 0 ? first.length : end;
  return { head: textOf(first.subarray(0, start)), body: new JsonLines([first.subarray(start + 1), ...rest]) };
}

/** The same bytes in pieces of this size, but for the last one. */
function* piecesOf(parts: Uint8Array[], sizeBytes: number): Generator<Uint8Array> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for (const part of parts) {
    for (let from = 0; from < part.length;) {
      const taken = part.subarray(from, from + sizeBytes - pendingBytes);
      pending.push(taken);
      pendingBytes += taken.length;
      from += taken.length;
      if (pendingBytes < sizeBytes) continue;
      yield pending.length === 1 ? taken : Buffer.concat(pending);
      [pending, pendingBytes] = [[], 0];
    }
  }
  if (pendingBytes > 0) yield Buffer.concat(pending);
}

/** Never throws: garbage becomes a head that no reader accepts. */
export function decode(data: Uint8Array): Message {
  const text = textOf(data);
  const end = text.indexOf('\n');
  return end < 0 ? { head: text, body: '' } : { head: text.slice(0, end), body: text.slice(end + 1) };
}

function textOf(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
}
