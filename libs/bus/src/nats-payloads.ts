import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorCode, headers as natsHeaders, type Msg, type MsgHdrs, NatsError } from 'nats';
import { Slots } from '@parley/background/slots';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { isMissing, type NatsLink } from './nats-connection';
import type { Message } from './message';
import { bodyPlace, bodyRequest } from './places';
import { bodyStreamConfig } from './streams';
import { tooLarge, withDeadline } from './transport';

/** Says where the pieces of a payload lie that is too large for one message of the server, and how many they are. */
const payloadHeader = 'parley-payload';
const payloadPlace = /^(bodies\.[a-z-]+\.[\da-f-]{36}) (\d{1,4})$/;
/** The server adds it to what it reads from a stream. */
const streamHeader = 'Nats-Stream';
/** Room that headers and protocol take beside the payload. */
const headroomBytes = 16 * 1024;
/** Longest wait for a payload that passes by reference, and for the server's answer to one question for it. */
const fetchTimeoutMs = 10_000;
const questionTimeoutMs = 5_000;
/** Each takes several times its size while it is read and worked on. */
const maxReferencedAtOnce = 2;
/** How long a copy of the stream may take to have what another copy has confirmed. */
const copyingMs = 2_000;

/** What NATS carries of a message: its head, a line break and its body. */
export interface Payload {
  data: Uint8Array;
  headers?: MsgHdrs;
  /** Where the pieces of it lie when the message only says so. */
  pieces?: string[];
}

/** Messages to payloads and back. A payload too large for one NATS message passes by reference, through a stream. */
export class NatsPayloads {
  private referencedRequests = 0;
  private readonly answers = new Slots(maxReferencedAtOnce);

  constructor(
    private readonly link: NatsLink,
    private readonly maxBodyBytes: number,
    private readonly replicas: number,
  ) {}

  /** @param receiver is the app that may read it. Throws PayloadTooLarge for a body over the platform's limit. */
  async pack(what: 'request' | 'answer', receiver: string, message: Message): Promise<Payload> {
    if (Buffer.byteLength(message.body) > this.maxBodyBytes) throw tooLarge(what, this.maxBodyBytes);
    const data = encode(message);
    if (data.length <= this.pieceBytes) return { data };

    const place = bodyPlace(receiver, randomUUID());
    const pieces = await this.put(place, data);
    const headers = natsHeaders();
    headers.set(payloadHeader, `${place} ${pieces.length}`);
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
    if (payload.pieces) setTimeout(() => this.release(payload), fetchTimeoutMs).unref();
  }

  /**
   * Answers a request. One that passes by reference has one of two places until it is answered: without one it is refused
   * with `unavailable` before anything of it is fetched.
   */
  async answered<T>(message: Msg, answer: (request: Message) => Promise<T>): Promise<T> {
    const reference = referenceOf(message);
    if (!reference) return answer(decode(message.data));
    if (this.referencedRequests >= maxReferencedAtOnce) {
      throw unavailable(
        `Only ${maxReferencedAtOnce} large requests are worked on at once. Nothing was done: try again in a moment.`,
      );
    }
    this.referencedRequests += 1;
    try {
      return await answer(decode(await withDeadline(message.subject, this.take(reference), fetchTimeoutMs)));
    } finally {
      this.referencedRequests -= 1;
    }
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
      return decode(await withDeadline(subject, fetched, fetchTimeoutMs));
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
  private async put(place: string, data: Uint8Array): Promise<string[]> {
    try {
      return await this.write(place, data);
    } catch (error) {
      if (!isMissing(error)) throw error;
      const { streams } = await this.link.connection.jetstreamManager({ checkAPI: false });
      await streams.add(bodyStreamConfig(this.replicas));
      return this.write(place, data);
    }
  }

  private async write(place: string, data: Uint8Array): Promise<string[]> {
    const stream = this.link.connection.jetstream();
    const pieces: string[] = [];
    for (let start = 0; start < data.length; start += this.pieceBytes) {
      const piece = `${place}.${pieces.length}`;
      await stream.publish(piece, data.subarray(start, start + this.pieceBytes));
      pieces.push(piece);
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

/** What nobody of ours has sent becomes a head that nobody understands. */
export function decode(data: Uint8Array): Message {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
  const end = text.indexOf('\n');
  return end < 0 ? { head: text, body: '' } : { head: text.slice(0, end), body: text.slice(end + 1) };
}
