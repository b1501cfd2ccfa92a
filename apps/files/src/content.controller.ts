import { Controller, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import cors from '@fastify/cors';
import { ApiError } from '@parley/contracts/errors';
import type { FileRow } from '@parley/file-store/file.entity';
import { ErrorFilter } from '@parley/service/error.filter';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import parseRange from 'range-parser';
import { ContentUrls } from './content-urls';
import { ContentService } from './content.service';

/** A client that sends or takes nothing for this long is cut off. */
const idleTimeoutMs = 60_000;
/** Types that a browser shows without running anything of them. */
const inertTypes = /^(image\/(?!svg)|audio\/|video\/|text\/plain|application\/pdf)/;

type ContentRequest = FastifyRequest<{ Params: { fileId: string }; Querystring: Record<string, unknown> }>;

/** The content address: signed PUT and GET, streamed between the client and the blob store, never through the bus. */
@Controller()
export class ContentController implements OnModuleInit {
  constructor(
    private readonly http: HttpAdapterHost,
    private readonly service: ContentService,
    private readonly urls: ContentUrls,
    private readonly errors: ErrorFilter,
  ) {}

  async onModuleInit(): Promise<void> {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    await fastify.register(async (scope) => {
      await scope.register(cors, { origin: true, methods: ['GET', 'HEAD', 'PUT'], maxAge: 600 });
      // Bodies are left on the socket for the handler to stream.
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
      scope.setErrorHandler((error, request, reply) => this.errors.answer(error, request, reply));
      scope.put('/content/:fileId', (request: ContentRequest, reply) => this.put(request, reply));
      scope.get('/content/:fileId', (request: ContentRequest, reply) => this.get(request, reply));
    });
  }

  private async put(request: ContentRequest, reply: FastifyReply) {
    const grant = this.urls.readUpload(request.params.fileId, request.query);
    const { 'content-type': contentType, 'content-length': length, 'x-amz-tagging': tagging } = request.headers;
    if (contentType !== undefined && contentType !== grant.contentType) {
      throw new ApiError('InvalidPayload', `content-type must be ${grant.contentType}, as declared.`);
    }
    if (grant.tagged && tagging !== 'public=true') {
      throw new ApiError('InvalidPayload', 'x-amz-tagging must be public=true, since publicContentImmediatelyAccessible was asked for.');
    }
    if (length !== undefined && Number(length) !== grant.size) {
      await this.service.refuse(grant, Number(length));
    }
    cutWhenIdle(request);
    await this.service.upload(grant, request.raw);
    return reply.code(200).send();
  }

  private async get(request: ContentRequest, reply: FastifyReply) {
    const { fileId, contentVersion } = this.urls.readDownload(request.params.fileId, request.query);
    const file = await this.service.find(fileId, contentVersion);
    const size = Number(file.size);
    describeContent(reply, file);
    if (request.headers['if-none-match'] === reply.getHeader('etag')) return reply.code(304).send();

    const range = readRange(request, reply, size);
    if (range === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${size}`).send();
    if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${size}`);
    reply.header('content-length', range ? range.end - range.start + 1 : size);
    if (request.method === 'HEAD' || size === 0) return reply.send();
    cutWhenIdle(request);
    return reply.send(await this.service.read(file, range));
  }
}

/** Content may come from anybody: a browser must neither guess its type nor run it. */
function describeContent(reply: FastifyReply, file: FileRow): void {
  const name = encodeURIComponent(file.key.split('/').pop() ?? file.key);
  const disposition = inertTypes.test(file.content_type) ? 'inline' : 'attachment';
  reply.headers({
    'content-type': file.content_type,
    'content-disposition': `${disposition}; filename*=UTF-8''${name}`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    'cache-control': 'private, max-age=900',
    etag: `"${file.content_version ?? ''}"`,
  });
}

/** The one range that is asked for; undefined for the whole. Several ranges are answered with the whole. */
function readRange(request: FastifyRequest, reply: FastifyReply, size: number): { start: number; end: number } | 'unsatisfiable' | undefined {
  const { range: header, 'if-range': condition } = request.headers;
  if (!header || (condition !== undefined && condition !== reply.getHeader('etag'))) return undefined;
  const ranges = parseRange(size, header);
  if (ranges === -1) return 'unsatisfiable';
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return undefined;
  return ranges[0];
}

function cutWhenIdle({ raw: { socket } }: FastifyRequest): void {
  socket.setTimeout(idleTimeoutMs, () => socket.destroy());
}
