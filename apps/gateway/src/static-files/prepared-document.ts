import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Content codings, the smallest first. */
export const encodings = ['br', 'gzip'] as const;
export type Encoding = (typeof encodings)[number];

type Reader = () => Promise<Buffer>;

interface Prepared {
  bytes: Buffer;
  etag: string;
}

/** Document that does not change: each coding is prepared once, for the first request, and answered from memory. */
export class PreparedDocument {
  private readonly prepared = new Map<Encoding | 'identity', Promise<Prepared>>();

  /** @param encoders give the bytes of a coding; `read` gives the content as it is */
  constructor(
    private readonly contentType: string,
    private readonly read: Reader,
    private readonly encoders: Partial<Record<Encoding, (read: Reader) => Promise<Buffer>>> = {},
  ) {}

  /** Content in the smallest coding that the client accepts; undefined with the status 304. Sets the headers. */
  async answer(
    { headers }: Pick<FastifyRequest, 'headers'>,
    reply: FastifyReply,
    cacheControl: string,
  ): Promise<Buffer | undefined> {
    const encoding = this.acceptedOf(headers['accept-encoding']);
    const { bytes, etag } = encoding ? await this.encoded(encoding) : await this.plain();
    void reply.headers({ vary: 'accept-encoding', 'cache-control': cacheControl, etag });
    if (isKnown(headers['if-none-match'], etag)) {
      void reply.code(304);
      return undefined;
    }
    if (encoding) void reply.header('content-encoding', encoding);
    void reply.type(this.contentType);
    return bytes;
  }

  private acceptedOf(accepted: string | string[] = ''): Encoding | undefined {
    const offered = String(accepted)
      .split(',')
      .map((offer) => offer.split(';')[0]!.trim());
    return encodings.find((encoding) => this.encoders[encoding] && offered.includes(encoding));
  }

  private plain(): Promise<Prepared> {
    return this.prepare('identity', this.read);
  }

  private encoded(encoding: Encoding): Promise<Prepared> {
    return this.prepare(encoding, () => this.encoders[encoding]!(async () => (await this.plain()).bytes));
  }

  private prepare(coding: Encoding | 'identity', read: Reader): Promise<Prepared> {
    const known = this.prepared.get(coding);
    if (known) return known;
    const prepared = read().then((bytes) => ({ bytes, etag: `"${createHash('sha256').update(bytes).digest('hex')}"` }));
    this.prepared.set(coding, prepared);
    // The next request tries again.
    prepared.catch(() => this.prepared.delete(coding));
    return prepared;
  }
}

function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag);
}
