import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import type { Operation } from '@parley/contracts/operation';
import { Overloaded } from './concurrency-limiter';
import type { Platform } from './platform';
import { platformToken } from './tokens';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UnauthenticatedShare } from './unauthenticated-share';
import { cutUnread } from './unread-body';
import { newErrorId, toApiError, toErrorBody, toOpenAiBody } from './error-body';
import type { TracedRequest } from './request-trace';

/** Rejections that wait. Further ones are sent at once. */
const maxRejections = 500;

/**
 * Exception filter: the only place that turns errors into HTTP responses, for all routes. Errors of messages pass through
 * it to ParleyServer, which maps them.
 */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly rejections: UnauthenticatedShare;

  constructor(@Inject(platformToken) private readonly platform: Platform) {
    const { metrics } = platform;
    this.rejections = new UnauthenticatedShare({
      place: 'rejections',
      max: maxRejections,
      maxLoopDelayMs: Infinity,
      metrics,
    });
  }

  catch(error: unknown, host: ArgumentsHost): void {
    if (host.getType() === 'rpc') throw error;
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** A client error waits for its turn when its sender is unauthenticated: for a path without a route, for example. */
  answer(error: unknown, request: TracedRequest, reply: FastifyReply): void {
    if (request.isAdmitted || toApiError(error).code >= 500) return this.answerNow(error, request, reply);
    // When too many wait, it is sent at once.
    void this.rejections
      .run(request, () => undefined)
      .catch(() => undefined)
      .then(() => this.answerNow(error, request, reply));
  }

  private answerNow(error: unknown, request: TracedRequest, reply: FastifyReply): void {
    // Nobody reads the response, and the request log has the status 499.
    if (isDroppedBody(error, request)) return void reply.hijack();
    const known = toApiError(error);
    const id = newErrorId();
    request.errorType = known.type;
    if (known.code >= 500 && !(known.cause instanceof Overloaded)) {
      // A 503 has a known, temporary cause: warning instead of error.
      this.platform.logger[known.code === 503 ? 'warn' : 'error'](
        { err: known.cause ?? error, errorId: id, url: request.routeOptions?.url, type: known.type },
        known.message,
      );
    }
    // Fastify would close the connection of a client with a too large body before the client has read the error.
    reply.removeHeader('connection');
    reply.raw.once('finish', () => cutUnread(request));
    reply.header('x-error-id', id);
    // Clients of OpenAI's API would repeat a request that no repetition helps.
    if (formatOf(request) === 'openai' && known.type === 'QuotaExceeded') reply.header('x-should-retry', 'false');
    if (known.retryAfterSeconds !== undefined) reply.header('retry-after', String(known.retryAfterSeconds));
    reply
      .code(known.code)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(formatOf(request) === 'openai' ? toOpenAiBody(known, id) : toErrorBody(known, id)));
  }
}

function formatOf({ routeOptions }: FastifyRequest): Operation['errorFormat'] {
  return (routeOptions?.config as { operation?: Operation } | undefined)?.operation?.errorFormat;
}

function isDroppedBody(error: unknown, { raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
}
