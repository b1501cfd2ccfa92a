import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorCode, headers as natsHeaders, type Msg, type MsgHdrs, NatsError } from 'nats';
import { Slots } from '@parley/background/slots';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { isMissing, type NatsLink } from './nats-connection';
import { LargeRequestTurns } from './large-json';
import { largeBodyBytes, type Message, type RequestMessage } from './message';
import { bodyPlace, bodyRequest } from './places';
import { bodyStreamConfig } from './streams';
import { tooLarge, withDeadline } from './transport';

/** Says where the pieces of a payload lie that is too large for one message of the server, and how many they are. */
const payloadHeader = 'parley-payload';
/** Whose share of the places for large requests such a request takes. */
const tenantHeader = 'parley-tenant';
const payloadPlace = /^(bodies\.[a-z-]+\.[\da-f-]{36}) (\d{1,4})$/;
const lineBreak = 10;
/** The server adds it to what it reads from a stream. */
const streamHeader = 'Nats-Stream';
/** Room that headers and protocol take beside the payload. */
const headroomBytes = 16 * 1024;
/** Of answers, each of which takes several times its size while it is read. */
const maxReferencedAtOnce = 2;

export interface PayloadTiming {
  /** Longest wait for a payload that passes by reference. */
  fetchTimeoutMs: number;
  /** Longest wait for the server's answer to one question for it. */
  questionTimeoutMs: number;
  /** How long a copy of the stream may take to have what another copy has confirmed. */
  copyingMs: number;
}

export const defaultPayloadTiming: PayloadTiming = {
  fetchTimeoutMs: 10_000,
  questionTimeoutMs: 5_000,
  copyingMs: 2_000,
};

/** What NATS carries of a message: its head, a line break and its body. */
export interface Payload {
  data: Uint8Array;
  headers?: MsgHdrs;
  /** Where the pieces of it lie when the message only says so. */
  pieces?: string[];
}

/** Messages to payloads and back. A payload too large for one NATS message passes by reference, through a stream. */
export class NatsPayloads {
  private readonly turns = new LargeRequestTurns();
  private readonly answers = new Slots(maxReferencedAtOnce);

  constructor(
    private readonly link: NatsLink,
    private readonly maxBodyBytes: number,
    private readonly replicas: number,
    private readonly timing: PayloadTiming,
  ) {}

  /** @param receiver is the app that may read it. Throws PayloadTooLarge for a body over the platform's limit. */
  async pack(what: 'request' | 'answer', receiver: string, message: RequestMessage): Promise<Payload> {
    const { head, body, tenant } = message;
    if (Buffer.byteLength(body) > this.maxBodyBytes) throw tooLarge(what, this.maxBodyBytes);
    if (typeof body === 'string') {
      const data = encode({ head, body });
      return data.length <= this.pieceBytes ? { data } : this.refer(receiver, [data], tenant);
    }
    const parts = [Buffer.from(`${head}\n`), body];
    const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
    return length <= this.pieceBytes ? { data: Buffer.concat(parts) } : this.refer(receiver, parts, tenant);
  }

  /** Puts the payload, which is in several parts, where the receiver fetches it. */
  private async refer(receiver: string, parts: Uint8Array[], tenant: string | undefined): Promise<Payload> {
    const place = bodyPlace(receiver, randomUUID());
    const pieces = await this.put(place, parts);
    const headers = natsHeaders();
    headers.set(payloadHeader, `${place} ${pieces.length}`);
    if (tenant !== undefined) headers.set(tenantHeader, tenant);
    return { data: Buffer.alloc(0), headers, pieces };
  }

  /**
   * Gives back the room of a payload whose reader has it. Its sender does so, as readers may not write there: whoever
   * could do both could have the server tell anything anywhere.
   */
  release({ pieces = [] }: Payload): void {
    if (this.link.isUp) pieces.forEach((piece) => this.link.connection.publish(piece));
  }

  /** The same when nobody says that the reader has it. */
  releaseLater(payload: Payload): void {
    if (payload.pieces) setTimeout(() => this.release(payload), this.timing.fetchTimeoutMs).unref();
  }

  /**
   * Answers a request. One that passes by reference waits for its turn among those of all tenants, and has a place until it
   * is answered: without one in time it is refused with `unavailable` before anything of it is fetched.
   */
  async answered<T>(message: Msg, answer: (request: RequestMessage) => Promise<T>): Promise<T> {
    const reference = referenceOf(message);
    if (!reference) return answer(decodeRequest(message.data, { isShared: true }));
    return this.turns.run(message.headers?.get(tenantHeader) ?? '', async () => {
      const data = await withDeadline(message.subject, this.take(reference), this.timing.fetchTimeoutMs);
      return answer(decodeRequest(data, { isShared: false }));
    });
  }

  /**
   * One that passes by reference waits while two others are fetched. Throws OperationTimeout when it cannot be fetched: what
   * it answers is done already.
   */
  async readAnswer(subject: string, message: Msg): Promise<Message> {
    const reference = referenceOf(message);
    if (!reference) return decode(message.data);
    const late = new AbortController();
    const fetched = this.answers.run(() => this.take(reference), late.signal);
    try {
      return decode(await withDeadline(subject, fetched, this.timing.fetchTimeoutMs));
    } catch (error) {
      throw new ApiError(
        'OperationTimeout',
        `The answer of ${subject} was lost on its way. It may have done the work: look before you try again.`,
        { cause: error },
      );
    } finally {
      late.abort();
    }
  }

  private get pieceBytes(): number {
    return (this.link.connection.info?.max_payload ?? 1024 * 1024) - headroomBytes;
  }

  /** A broker that lost its disk has also lost the stream: then it is made again. */
  private async put(place: string, parts: Uint8Array[]): Promise<string[]> {
    try {
      return await this.write(place, parts);
    } catch (error) {
      if (!isMissing(error)) throw error;
      const { streams } = await this.link.connection.jetstreamManager({ checkAPI: false });
      await streams.add(bodyStreamConfig(this.replicas));
      return this.write(place, parts);
    }
  }

  private async write(place: string, parts: Uint8Array[]): Promise<string[]> {
    const stream = this.link.connection.jetstream();
    const pieces: string[] = [];
    for (const data of parts) {
      for (let start = 0; start < data.length; start += this.pieceBytes) {
        const piece = `${place}.${pieces.length}`;
        await stream.publish(piece, data.subarray(start, start + this.pieceBytes));
        pieces.push(piece);
      }
    }
    return pieces;
  }

  private async take(reference: string): Promise<Uint8Array> {
    const [, place, count] = payloadPlace.exec(reference) ?? [];
    if (!place)
      throw new ApiError('InvalidPayload', 'The message on the bus says nothing usable of where its body is.');
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (let index = 0; index < Number(count); index += 1) {
      const piece = await this.read(`${place}.${index}`);
      size += piece.length;
      if (size > this.maxBodyBytes + headroomBytes) throw tooLarge('message', this.maxBodyBytes);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  /**
   * Asks again for a while: in a cluster the copy that answers may be a moment behind. Without the stream, the server
   * says nothing.
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
      if (Date.now() > deadline) throw unavailable('The body of a large message is gone. Try again.');
    }
  }
}

/** Where the payload lies, if it is not in the message itself. */
function referenceOf(message: Msg): string | undefined {
  const headers = readHeaders(message);
  // Whoever reads a stream may have the server send what it finds to any place.
  if (headers?.has(streamHeader)) throw new ApiError('InvalidPayload', 'The message on the bus is one of a stream.');
  return headers?.get(payloadHeader) || undefined;
}

function isTimeout(error: unknown): boolean {
  return error instanceof NatsError && error.code === String(ErrorCode.Timeout);
}

/** Throws InvalidPayload for headers that nobody of ours has sent. */
export function readHeaders(message: Msg): MsgHdrs | undefined {
  try {
    return message.headers;
  } catch (error) {
    throw new ApiError('InvalidPayload', 'The headers of the message on the bus cannot be read.', { cause: error });
  }
}

export function encode({ head, body }: Message): Uint8Array {
  return Buffer.from(`${head}\n${body}`);
}

/**
 * A large body stays in bytes.
 * @param isShared tells whether somebody else may hold what lies beside the data: then a large body is copied.
 */
function decodeRequest(data: Uint8Array, { isShared }: { isShared: boolean }): RequestMessage {
  const end = data.indexOf(lineBreak);
  if (data.length <= largeBodyBytes || end < 0) return decode(data);
  const body = data.subarray(end + 1);
  return { head: textOf(data.subarray(0, end)), body: isShared ? new Uint8Array(body) : body };
}

/** What nobody of ours has sent becomes a head that nobody understands. */
export function decode(data: Uint8Array): Message {
  const text = textOf(data);
  const end = text.indexOf('\n');
  return end < 0 ? { head: text, body: '' } : { head: text.slice(0, end), body: text.slice(end + 1) };
}

function textOf(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
}
