import cors from '@fastify/cors';
import { type DynamicModule, Inject, Module, type OnModuleInit } from '@nestjs/common';
import { APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import type { Operation, Route } from '@parley/contracts/operation';
import type { Platform } from '@parley/service/platform';
import { logRequests } from '@parley/service/request-log';
import { traceRequests } from '@parley/service/request-trace';
import { platformToken } from '@parley/service/tokens';
import type { FastifyInstance } from 'fastify';
import { AuthGuard } from '../auth/auth.guard';
import { ChatCallers } from '../auth/chat-callers';
import { IdentityService } from '../auth/identity.service';
import { BodyReader } from '../bodies/body-reader';
import { BodyRoom } from '../bodies/body-room';
import { LargeBodies } from '../bodies/large-bodies';
import { GatewayConfig } from '../config';
import { limitHeaders } from '../rate-limits';
import { leaveBodiesUnread } from './body-parser';
import { type ForwardedRequest, operationOf } from './forwarded-request';
import { forwardingControllers, missingController } from './forwarding-controllers';
import { ForwardingService } from './forwarding.service';
import { LoadSheddingGuard } from './load-shedding.guard';

/**
 * Routes of the API: one for each operation of the contracts. A request passes LoadSheddingGuard, AuthGuard,
 * ContractPipe and ForwardingService; ApiExceptionFilter answers errors.
 */
@Module({})
export class ForwardingModule implements OnModuleInit {
  constructor(
    private readonly http: HttpAdapterHost,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  static register(operations: Operation[], missingRoutes: Route[]): DynamicModule {
    return {
      module: ForwardingModule,
      controllers: [missingController(missingRoutes), ...forwardingControllers(operations)],
      providers: [
        { provide: APP_GUARD, useClass: LoadSheddingGuard },
        { provide: APP_GUARD, useClass: AuthGuard },
        {
          provide: BodyReader,
          // Incomplete bodies hold at most two thirds of the request slots: one of strangers, one of all tenants.
          useFactory: ({ gatewayMaxInFlight: max }: GatewayConfig) => new BodyReader(new BodyRoom(Math.ceil(max / 3))),
          inject: [GatewayConfig],
        },
        ChatCallers,
        ForwardingService,
        IdentityService,
        LargeBodies,
      ],
    };
  }

  onModuleInit(): void {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    // CORS with credentials for any origin, because the public client sends credentials in browsers. That is safe:
    // tokens are sent in headers, which a browser does not add by itself.
    // `enableCors` of Nest would copy these headers to the raw response, which makes Node write all headers slowly.
    fastify.register(cors, {
      origin: true,
      credentials: true,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed', ...limitHeaders],
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
