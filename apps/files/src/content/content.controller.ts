import { Controller, Inject, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import cors from '@fastify/cors';
import type { ByteRange } from '@parley/blobs/blob-store';
import { ApiError } from '@parley/contracts/errors';
import type { FileEntity } from '../store/file.entity';
import { ConcurrencyLimiter, whenEnded } from '@parley/service/concurrency-limiter';
import { ApiExceptionFilter } from '@parley/service/api-exception.filter';
import type { Platform } from '@parley/service/platform';
import { logRequests } from '@parley/service/request-log';
import { type TracedRequest, traceRequests } from '@parley/service/request-trace';
import { platformToken } from '@parley/service/tokens';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FilesConfig } from '../config';
import { ContentUrlsService } from './content-urls.service';
import { ContentService } from './content.service';
import { UploadsService } from './uploads.service';

const idleTimeoutMs = 60_000;
const defaultMaxUploads = 400;
const maxDownloads = 2_000;
/** Downloads without a signature whose file is looked up or waits for that. */
const maxPublicLookups = 500;
/** Types that browsers display without running any of their content. */
const inertTypes = /^(image\/(?!svg)|audio\/|video\/|text\/plain|application\/pdf)/i;

const publicCachingSeconds = 60;

const exposedHeaders = ['x-request-id', 'x-error-id', 'retry-after'];

type ContentRequest = FastifyRequest<{ Params: { fileId: string }; Querystring: Record<string, unknown> }>;

/** Content endpoint: signed PUT and GET, streamed between the client and the blob store, never through the bus. */
@Controller()
export class ContentController implements OnModuleInit {
  private readonly uploadLimiter: ConcurrencyLimiter;
  private readonly downloadLimiter: ConcurrencyLimiter;
  private readonly publicLookups: UnauthenticatedShare;

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly contents: ContentService,
    private readonly uploads: UploadsService,
    private readonly urls: ContentUrlsService,
    private readonly errors: ApiExceptionFilter,
    { contentMaxUploads: maxUploads = defaultMaxUploads, maxLoopDelayMs }: FilesConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    const common = { maxLoopDelayMs, metrics: platform.metrics };
    this.uploadLimiter = new ConcurrencyLimiter({ place: 'uploads', max: maxUploads, ...common });
    this.downloadLimiter = new ConcurrencyLimiter({ place: 'downloads', max: maxDownloads, ...common });
    this.publicLookups = new UnauthenticatedShare({ place: 'public lookups', max: maxPublicLookups, ...common });
  }

  onModuleInit(): void {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    // Not awaited: Fastify would fix the error handler of all routes before Nest sets it.
    fastify.register(async (scope) => {
      await scope.register(cors, { origin: true, methods: ['GET', 'HEAD', 'PUT'], exposedHeaders, maxAge: 600 });
      traceRequests(scope);
      logRequests(scope, this.platform, ({ params }) => ({
        file: (params as ContentRequest['params']).fileId.slice(0, 40),
      }));
      // Bodies stay on the socket for the handler to stream.
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
      scope.setErrorHandler((error, request, reply) => this.errors.answer(error, request, reply));
      scope.addHook('onRequest', (request, reply, done) => {
        if (request.method !== 'PUT') whenEnded(reply, this.downloadLimiter.enter());
        done();
      });
      scope.put('/content/:fileId', (request: ContentRequest, reply) => this.put(request, reply));
      // `fastify.get` would add a HEAD route, which announces a length of 0.
      const get = (request: ContentRequest, reply: FastifyReply) => this.get(request, reply);
      scope.route({ method: ['GET', 'HEAD'], url: '/content/:fileId', exposeHeadRoute: false, handler: get });
    });
  }

  private async put(request: ContentRequest, reply: FastifyReply) {
    const grant = this.urls.readUpload(request.params.fileId, request.query);
    (request as TracedRequest).isAdmitted = true;
    const { 'content-type': contentType, 'content-length': length, 'x-amz-tagging': tagging } = request.headers;
    if (contentType !== undefined && contentType !== grant.contentType.trim()) {
      throw new ApiError('InvalidPayload', `content-type must be ${grant.contentType}, as declared.`);
    }
    if (grant.tagged && tagging !== 'public=true') {
      throw new ApiError(
        'InvalidPayload',
        'x-amz-tagging must be public=true: the file was declared with publicContentImmediatelyAccessible.',
      );
    }
    const declared = await this.uploads.getDeclared(grant);
    whenEnded(reply, this.uploadLimiter.enter(declared.botId));
    if (length !== undefined && Number(length) !== grant.size) {
      await this.uploads.refuse(grant, Number(length));
    }
    cutWhenIdle(request);
    await this.uploads.upload(grant, declared, request.raw);
    return reply.code(200).send();
  }

  private async get(request: ContentRequest, reply: FastifyReply) {
    const grant = this.urls.readDownload(request.params.fileId, request.query);
    (request as TracedRequest).isAdmitted = grant !== undefined;
    const file = grant
      ? await this.contents.find(grant.fileId, grant.version)
      : await this.publicLookups.run(request, () => this.contents.findPublic(request.params.fileId));
    const size = Number(file.size);
    describeContent(reply, file, grant ? 'private, max-age=900' : publicCaching(file));
    if (isKnown(request.headers['if-none-match'], String(reply.getHeader('etag')))) return reply.code(304).send();

    const range = request.method === 'GET' ? readRange(request, reply, size) : undefined;
    if (range === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${size}`).send();
    if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${size}`);
    reply.header('content-length', range ? range.end - range.start + 1 : size);
    if (request.method === 'HEAD' || size === 0) return reply.send();
    cutWhenIdle(request);
    return reply.send(await this.contents.read(file, range));
  }
}

/** Untrusted content: a browser must neither guess its type nor run it. */
function describeContent(reply: FastifyReply, file: FileEntity, caching: string): void {
  const name = encodeURIComponent(file.key.split('/').pop() ?? file.key).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  const disposition = inertTypes.test(file.content_type) ? 'inline' : 'attachment';
  reply.headers({
    'content-type': file.content_type,
    'content-disposition': `${disposition}; filename*=UTF-8''${name}`,
    'content-security-policy': "sandbox; default-src 'none'",
    'accept-ranges': 'bytes',
    'cache-control': caching,
    etag: `"${file.blob_version ?? ''}"`,
  });
}

/**
 * The URL stays the same when the content changes or is no longer public, so caches keep it for at most 60 s, and never
 * longer than the file lives.
 */
function publicCaching({ expires_at: expiresAt }: FileEntity): string {
  if (!expiresAt) return `public, max-age=${publicCachingSeconds}, stale-if-error=${publicCachingSeconds}`;
  const leftSeconds = Math.floor((expiresAt.getTime() - Date.now()) / 1000);
  return `public, max-age=${Math.max(0, Math.min(publicCachingSeconds, leftSeconds))}`;
}

/** `If-None-Match`, RFC 9110 section 13.1.2: whether the client has this content already. */
function isKnown(condition: string | undefined, etag: string): boolean {
  return (condition ?? '').split(',').some((entry) => ['*', etag, `W/${etag}`].includes(entry.trim()));
}

/**
 * Single byte range of the request. Undefined, for the whole content, without a range and for several or invalid
 * ranges.
 */
function readRange(
  request: FastifyRequest,
  reply: FastifyReply,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  const { range: header, 'if-range': condition } = request.headers;
  if (condition !== undefined && condition !== reply.getHeader('etag')) return undefined;
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;

  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}

/** Node destroys an idle socket itself when the timeout has no listener. */
function cutWhenIdle({ raw: { socket } }: FastifyRequest): void {
  socket.setTimeout(idleTimeoutMs);
}
