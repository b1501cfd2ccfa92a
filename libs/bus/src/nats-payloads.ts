import { randomUUID } from 'node:crypto';
import { headers as natsHeaders, type Msg, type MsgHdrs, type ObjectStore } from 'nats';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import { isMissing, type NatsLink } from './nats-connection';
import type { Message } from './message';
import { tooLarge, withDeadline } from './transport';

/** Names the object that holds the payload of a message which is too large for the server. */
const payloadHeader = 'parley-payload';
/** Room that headers and protocol take beside the payload. */
const headroomBytes = 16 * 1024;
const bucket = 'parley-bodies';
const lifetimeMs = 5 * 60_000;
/** Longest wait for a payload that passes by reference. */
const fetchTimeoutMs = 10_000;

/** What NATS carries of a message: its head, a line break and its body. */
export interface Payload {
  data: Uint8Array;
  headers?: MsgHdrs;
}

/** Messages to payloads and back. A payload too large for one NATS message passes by reference through the object store. */
export class NatsPayloads {
  private store?: Promise<ObjectStore>;

  constructor(
    private readonly link: NatsLink,
    private readonly maxBodyBytes: number,
    private readonly logger: Logger,
  ) {}

  /** Throws PayloadTooLarge for a body over the platform's limit. */
  async pack(what: 'request' | 'answer', message: Message): Promise<Payload> {
    if (Buffer.byteLength(message.body) > this.maxBodyBytes) throw tooLarge(what, this.maxBodyBytes);
    const data = encode(message);
    const limit = (this.link.connection.info?.max_payload ?? 1024 * 1024) - headroomBytes;
    if (data.length <= limit) return { data };

    const name = randomUUID();
    await this.put(name, data);
    const headers = natsHeaders();
    headers.set(payloadHeader, name);
    return { data: Buffer.alloc(0), headers };
  }

  async unpack(message: Msg): Promise<Message> {
    const name = readHeaders(message)?.get(payloadHeader);
    return decode(name ? await withDeadline(message.subject, this.take(name), fetchTimeoutMs) : message.data);
  }

  private async take(name: string): Promise<Uint8Array> {
    const store = await this.open();
    const data = await store.getBlob(name);
    if (!data) throw unavailable('The body of a large message is gone. Try again.');
    store.delete(name).catch((error: unknown) => this.logger.debug({ err: error }, 'a body stays until it expires'));
    return data;
  }

  /** A broker that lost its disk has also lost the bucket: then it is made again. */
  private async put(name: string, data: Uint8Array): Promise<void> {
    const put = async () => (await this.open()).putBlob({ name }, data);
    try {
      await put();
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.store = undefined;
      await put();
    }
  }

  /** What its readers do not delete goes after five minutes. */
  private open(): Promise<ObjectStore> {
    this.store ??= this.link.connection
      .jetstream()
      .views.os(bucket, { ttl: lifetimeMs * 1_000_000 })
      .catch((error: unknown) => {
        this.store = undefined;
        throw error;
      });
    return this.store;
  }
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
function decode(data: Uint8Array): Message {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
  const end = text.indexOf('\n');
  return end < 0 ? { head: text, body: '' } : { head: text.slice(0, end), body: text.slice(end + 1) };
}
