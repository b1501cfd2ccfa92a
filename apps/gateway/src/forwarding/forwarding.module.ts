import cors from '@fastify/cors';
import { type DynamicModule, Inject, Module, type OnModuleInit } from '@nestjs/common';
import { APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import type { Operation } from '@parley/contracts/operation';
import { warningHeader } from '@parley/contracts/warning';
import type { Platform } from '@parley/service/platform';
import { logRequests } from '@parley/service/request-log';
import { traceRequests } from '@parley/service/request-trace';
import { platformToken } from '@parley/service/tokens';
import type { FastifyInstance } from 'fastify';
import { AuthGuard } from '../auth/auth.guard';
import { AuthModule } from '../auth/auth.module';
import { WebchatModule } from '../webchat/webchat.module';
import { webchatOf, WebchatOriginsService } from '../webchat/webchat-origins.service';
import { BodiesModule } from '../bodies/bodies.module';
import { limitHeaders } from '../rate-limits/rate.limiter';
import { leaveBodiesUnread } from './body-parser';
import { type ForwardedRequest, operationOf } from '../bodies/forwarded-request';
import { ChatUserLimiter } from './chat-user.limiter';
import { forwardingControllers } from './forwarding-controllers';
import { ForwardingService } from './forwarding.service';
import { GeneratedContentService } from './generated-content.service';
import { LoadSheddingGuard } from './load-shedding.guard';

/**
 * Routes of the API: one for each operation of the contracts. A request passes LoadSheddingGuard, AuthGuard,
 * ContractPipe and ForwardingService; ApiExceptionFilter answers errors.
 */
@Module({})
export class ForwardingModule implements OnModuleInit {
  constructor(
    private readonly http: HttpAdapterHost,
    private readonly webchatOrigins: WebchatOriginsService,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  static register(operations: Operation[]): DynamicModule {
    return {
      module: ForwardingModule,
      imports: [AuthModule, BodiesModule, WebchatModule],
      controllers: forwardingControllers(operations),
      providers: [
        { provide: APP_GUARD, useClass: LoadSheddingGuard },
        { provide: APP_GUARD, useClass: AuthGuard },
        ChatUserLimiter,
        ForwardingService,
        GeneratedContentService,
      ],
    };
  }

  onModuleInit(): void {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    // A page that may not show the web chat may not read its responses: without an origin, they have no CORS headers. The
    // plugin's own `delegator` takes 10 µs for each request, of any route.
    fastify.addHook('onRequest', (request, _reply, next) => {
      const webhookId = request.headers.origin === undefined ? undefined : webchatOf(request);
      if (!webhookId) return next();
      void this.webchatOrigins.allows(request, webhookId).then((mayRead) => {
        if (!mayRead) delete request.raw.headers.origin;
        next();
      });
    });
    // CORS with credentials for any origin, because the public client sends credentials in browsers. That is safe:
    // tokens are sent in headers, which a browser does not add by itself.
    // `enableCors` of Nest would copy these headers to the raw response, which makes Node write all headers slowly.
    fastify.register(cors, {
      // Without an origin the client is no web page, and needs only `vary`, for caches.
      origin: (origin, decide) => decide(null, origin !== undefined),
      credentials: true,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed', warningHeader, ...limitHeaders],
      maxAge: 600,
    });
    leaveBodiesUnread(fastify);
    const isForwarded = (request: ForwardedRequest) => operationOf(request) !== undefined;
    traceRequests(fastify, isForwarded);
    logRequests(
      fastify,
      this.platform,
      ({ caller }: ForwardedRequest) => ({ account: caller?.account?.id, bot: caller?.bot?.id }),
      isForwarded,
    );
  }
}
