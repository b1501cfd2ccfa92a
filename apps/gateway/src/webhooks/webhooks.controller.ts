import { Controller, Inject, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Caller, systemCaller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { sharedWebhooks } from '@parley/contracts/hub/shared-webhooks';
import { recordIn } from '@parley/contracts/is-record';
import { type WebhookAnswer, webhooks } from '@parley/contracts/runtime/webhooks';
import { ApiExceptionFilter } from '@parley/service/api-exception.filter';
import { toApiError } from '@parley/service/error-body';
import { ConcurrencyLimiter, whenEnded } from '@parley/service/concurrency-limiter';
import type { Platform } from '@parley/service/platform';
import { logRequest } from '@parley/service/request-log';
import type { TracedRequest } from '@parley/service/request-trace';
import { platformToken } from '@parley/service/tokens';
import { contentOf } from '@parley/service/webhook-body';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import { ParleyClient } from '@parley/transport/parley-client';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { GatewayConfig } from '../config';
import { limitBodyTime } from '../forwarding/body-parser';
import { RateLimiter } from '../rate-limits/rate.limiter';
import { interstitialHeaders, interstitialPage } from './interstitial-page';
import { relayedHeaders } from './relayed-headers';
import { WebhookBodyService } from './webhook-body.service';
import { type SharedTarget, type WebhookTarget, webhookTarget } from './webhook-target';

const base = '/webhooks';
/** Headers of every response that say what a page may do. On a host of their own, integrations decide. */
const pageHeaders = ['content-security-policy', 'referrer-policy', 'x-content-type-options'];
const maxKnown = 10_000;
const knownMs = 10 * 60_000;

/** Routes of webhooks: other services call them, and browsers during an OAuth round trip. */
@Controller()
export class WebhooksController implements OnModuleInit {
  private readonly limiter: ConcurrencyLimiter;
  /** Webhooks that existed lately. Others are looked up in the share of unauthenticated senders. */
  private readonly known = new LRUCache<string, true>({ ...atMostEntries(maxKnown), ttl: knownMs });

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly client: ParleyClient,
    private readonly bodies: WebhookBodyService,
    private readonly limits: RateLimiter,
    private readonly unauthenticated: UnauthenticatedShare,
    private readonly errors: ApiExceptionFilter,
    private readonly config: GatewayConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    const { gatewayMaxInFlight: max, maxLoopDelayMs } = config;
    this.limiter = new ConcurrencyLimiter({ place: 'webhooks', max, maxLoopDelayMs, metrics: platform.metrics });
  }

  onModuleInit(): void {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    // Not awaited: Fastify would fix the error handler of all routes before Nest sets it.
    fastify.register((scope, _options, done) => {
      const options: RouteShorthandOptions = {
        // Integrations answer requests from other origins themselves.
        config: { cors: false },
        errorHandler: (error, request, reply) => this.errors.answer(error, request, reply),
        onResponse: (request, reply, next) => {
          logRequest(this.platform, request, reply);
          this.platform.metrics.observeRequest(`webhook`, reply.statusCode, reply.elapsedTime);
          next();
        },
      };
      const shared = (request: FastifyRequest, reply: FastifyReply) =>
        this.receive(request, reply, request.raw.url!.slice(base.length), false);
      scope.all(`${base}/*`, options, shared);
      // Integrations use these paths at the root, whatever the base of their webhooks is.
      for (const path of ['/oauth', '/oauth/*', '/integration/global/*'])
        scope.all(path, options, (request, reply) => this.receive(request, reply, request.raw.url!, false));
      for (const path of ['/oauth/interstitial', '/apps/oauth/interstitial'])
        scope.get(path, options, showInterstitial);
      const host = ownHostOf(this.config.webhookUrl);
      if (host !== undefined)
        scope.all('/*', { ...options, constraints: { host } }, (request, reply) =>
          this.receive(request, reply, request.raw.url!, true),
        );
      done();
    });
  }

  /** @param url raw request target without the base */
  private async receive(
    request: TracedRequest,
    reply: FastifyReply,
    url: string,
    isOwnHost: boolean,
  ): Promise<string | Buffer> {
    const target = webhookTarget(url);
    if (!target) throw unknownWebhook();
    const key = target.isShared ? target.path.split('/', 2).join('/') : target.webhookId;
    whenEnded(reply, this.limiter.enter(key));
    const isKnown = this.known.has(key);
    request.isAdmitted = isKnown;
    // Shared webhooks serve many installations: each has its own limit in the runtime.
    const confirmCredential =
      target.isShared && isKnown ? undefined : await this.limits.countWebhook(key, request.ip, reply);
    limitBodyTime(request);
    const { path, query } = target;
    const caller = { ...systemCaller(request.id), traceparent: request.traceparent };
    if (!isKnown) await this.unauthenticated.run(request, () => this.require(caller, target, key));
    const sender = { tenant: `webhook ${key}`, isAuthenticated: this.known.has(key) };
    const handedOn = await this.bodies.read(request.raw, sender, (lease) => reply.raw.once('close', () => lease.end()));
    const received = { method: request.method, path, query, ...handedOn };
    const answered = () => {
      this.known.set(key, true);
      confirmCredential?.();
    };
    if (target.isShared) {
      const answer = await this.client.call(webhooks.receiveShared, caller, { path, request: received });
      answered();
      return relay(reply, answer, isOwnHost);
    }
    const { webhookId, isOauth } = target;
    const answer = await this.client.call(webhooks.receive, caller, { webhookId, request: received });
    answered();
    return isOauth ? relayOauth(reply, answer, isOwnHost) : relay(reply, answer, isOwnHost);
  }

  /** Throws ResourceNotFound for an unknown webhook, before its body is read. */
  private async require(caller: Caller, target: WebhookTarget | SharedTarget, key: string): Promise<void> {
    try {
      if (target.isShared) await this.client.call(sharedWebhooks.require, caller, { path: target.path });
      else await this.client.call(webhooks.require, caller, { webhookId: target.webhookId });
      this.known.set(key, true);
    } catch (error) {
      // The service is unavailable, or of the previous release: it refuses the request itself.
      if (toApiError(error).code < 500) throw error;
    }
  }
}

function relay(reply: FastifyReply, answer: WebhookAnswer, isOwnHost: boolean): string | Buffer {
  const { status, headers } = answer;
  if (isOwnHost) for (const name of pageHeaders) reply.removeHeader(name);
  void reply.code(status).headers(relayedHeaders(headers, isOwnHost));
  return contentOf(answer);
}

/** A person sees the answer: a page of the platform, unless the integration redirects or has a page of its own. */
function relayOauth(reply: FastifyReply, answer: WebhookAnswer, isOwnHost: boolean): string | Buffer {
  const { status, headers, body } = answer;
  const isRedirect = status >= 300 && status < 400;
  if (isRedirect || headers['x-bp-disable-interstitial'] === 'true') return relay(reply, answer, isOwnHost);
  const message = recordIn(body)?.['message'];
  const reason = status >= 400 && typeof message === 'string' ? message : '';
  void reply.code(status).headers(interstitialHeaders);
  return interstitialPage(status < 400, reason);
}

function showInterstitial(request: FastifyRequest, reply: FastifyReply): string {
  const { success, errorMessage } = request.query as Record<string, unknown>;
  void reply.headers(interstitialHeaders);
  return interstitialPage(success === 'true', typeof errorMessage === 'string' ? errorMessage : '');
}

/** Host that serves webhooks only: that of a webhook URL without a path. */
function ownHostOf(webhookUrl: string | undefined): string | undefined {
  if (webhookUrl === undefined) return undefined;
  const { host, pathname } = new URL(webhookUrl);
  return pathname === '/' ? host : undefined;
}

function unknownWebhook(): ApiError {
  return new ApiError(
    'ResourceNotFound',
    'Webhook not found: the path must begin with the webhook id of an installation, or with /oauth and have its webhook id as `state`.',
  );
}
