import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Controller, Inject, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { newErrorId, toApiError } from '@parley/service/error-body';
import { ApiExceptionFilter } from '@parley/service/api-exception.filter';
import type { Platform } from '@parley/service/platform';
import { rawErrorResponse } from '@parley/service/raw-error-response';
import { logRequest, requestId } from '@parley/service/request-log';
import { type TracedRequest, traceparentOf } from '@parley/service/request-trace';
import { platformToken } from '@parley/service/tokens';
import { TrustedProxies } from '@parley/service/trusted-proxies';
import { type UnauthenticatedSender, UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import { onWebSocket } from '@parley/service/web-sockets';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { WebSocketServer } from 'ws';
import { header } from '../auth/identity.service';
import { GatewayConfig } from '../config';
import { listenTarget } from './listen-target';
import { type StreamRequest, StreamsService } from './streams.service';
import { type Connection, SseConnection, WebSocketConnection } from './connection';
import { RateLimiter, type ResponseHeaders } from '../rate-limits/rate.limiter';

// Wildcard: a foreign id may contain slashes.
const listenRoute = '/chat/:webhookId/conversations/*';
/** Without this route, a foreign id that ends like this would match the route of a participant. */
const routeOfParticipants = '/chat/:webhookId/conversations/:id/participants/listen';
/** Listening clients send no messages. */
const maxMessageBytes = 1_000;

@Controller()
export class StreamsController implements OnModuleInit {
  private readonly handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: maxMessageBytes,
  });

  private readonly proxies: TrustedProxies;

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly streams: StreamsService,
    private readonly limits: RateLimiter,
    private readonly unauthenticated: UnauthenticatedShare,
    private readonly errors: ApiExceptionFilter,
    private readonly config: GatewayConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.proxies = new TrustedProxies(config.trustedProxies);
  }

  onModuleInit(): void {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    this.handshakes.on('wsClientError', (error, socket) =>
      this.refuse(socket, new ApiError('InvalidPayload', `Invalid WebSocket handshake: ${error.message}.`)),
    );
    onWebSocket(fastify.server, (request, socket, head) => void this.upgrade(request, socket, head));
    // Not awaited: Fastify would fix the error handler of all routes before Nest sets it.
    fastify.register((scope, _options, done) => {
      for (const path of [listenRoute, routeOfParticipants]) {
        scope.get(path, {
          exposeHeadRoute: false,
          handler: (request, reply) => this.sendEvents(request, reply),
          errorHandler: (error, request, reply) => {
            reply.raw.once('close', () => logRequest(this.platform, request, reply));
            this.errors.answer(error, request, reply);
          },
        });
      }
      done();
    });
  }

  /** Keeps no reference to the request while the stream is open. */
  private async sendEvents(request: TracedRequest, reply: FastifyReply): Promise<void> {
    const streamRequest = readStreamRequest(request.raw, request.id, request.traceparent!);
    const isOpen = await this.listen(streamRequest, request, reply, () => {
      const connection = SseConnection.open(reply);
      if (connection) this.platform.metrics.observeRequest(`GET ${listenRoute}`, 200, reply.elapsedTime);
      return connection;
    });
    if (isOpen) return;
    reply.hijack();
    logRequest(this.platform, request, reply);
  }

  /** Counts the request for the address until the user key has opened a stream, then for the key. */
  private async listen(
    request: StreamRequest,
    sender: UnauthenticatedSender,
    response: ResponseHeaders,
    connect: () => Connection | undefined,
  ): Promise<boolean> {
    const { userKey } = request.caller;
    const confirmCredential = await this.limits.count({ address: sender.ip, actor: 'chat-user', userKey }, response);
    const isConfirmed = this.limits.isConfirmed({ userKey });
    try {
      const isOpen = await this.streams.listen(request, connect, (authorize) =>
        isConfirmed ? authorize() : this.unauthenticated.run(sender, authorize),
      );
      confirmCredential();
      return isOpen;
    } catch (error) {
      if (toApiError(error).type === 'Unauthorized') this.limits.forgetCredential({ userKey });
      throw error;
    }
  }

  private async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const started = performance.now();
    const id = requestId(request);
    const headers: Record<string, string> = {};
    const response = { header: (name: string, value: string) => (headers[name] = value) };
    socket.on('error', ignore);
    try {
      const streamRequest = readStreamRequest(request, id, traceparentOf(request.headers));
      const connect = () => this.shakeHands(request, socket, head);
      const sender = { ip: this.proxies.senderOf(request), raw: request };
      const isOpen = await this.listen(streamRequest, sender, response, connect);
      if (isOpen) this.platform.metrics.observeRequest(`GET ${listenRoute}`, 101, performance.now() - started);
    } catch (error) {
      const { code } = this.refuse(socket, error, id, headers);
      this.platform.metrics.observeRequest(`GET ${listenRoute}`, code, performance.now() - started);
    }
  }

  private shakeHands(request: IncomingMessage, socket: Duplex, head: Buffer): Connection | undefined {
    if (socket.destroyed) return undefined;
    let connection: Connection | undefined;
    this.handshakes.handleUpgrade(request, socket, head, (webSocket) => {
      connection = new WebSocketConnection(webSocket, this.config.listenMaxUnsentBytes);
    });
    return connection;
  }

  private refuse(socket: Duplex, error: unknown, id?: string, headers?: Record<string, string>): ApiError {
    const known = toApiError(error);
    const errorId = newErrorId();
    this.platform.logger.info({ route: `GET ${listenRoute}`, status: known.code, errorId, requestId: id }, 'request');
    socket.end(rawErrorResponse(known, errorId, headers), () => socket.destroy());
    return known;
  }
}

/** Throws ResourceNotFound for another path, and Unauthorized without a user key. */
function readStreamRequest({ url = '', headers }: IncomingMessage, id: string, traceparent: string): StreamRequest {
  const target = listenTarget(url);
  if (!target) throw new ApiError('ResourceNotFound', 'This path is not available in this version. See /docs.');
  const { webhookId, conversationId, ...query } = target;
  const userKey = header({ headers }, 'x-user-key') ?? query.userKey;
  if (!userKey) {
    throw new ApiError(
      'Unauthorized',
      'The user key is missing: send the key of a user of this bot in the header or query parameter x-user-key.',
    );
  }
  const caller: Caller = { requestId: id, traceparent, credential: 'user', userKey };
  const after = header({ headers }, 'last-event-id') ?? query.lastEventId ?? '';
  return {
    caller,
    target: { webhookId, conversationId },
    after: /^\d{1,15}$/.test(after) ? Number(after) : undefined,
    isEventStreamOfProgram: [headers.upgrade, headers.origin, headers['sec-fetch-mode']].every(
      (each) => each === undefined,
    ),
  };
}

/** An error on a connection closes it, which is handled there. */
function ignore(): void {}
