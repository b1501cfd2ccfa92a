import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import { Overloaded } from './concurrency-limiter';
import type { Platform } from './platform';
import { platformToken } from './tokens';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { cutUnread } from './unread-body';
import { newErrorId, toApiError, toErrorBody } from './error-body';
import type { TracedRequest } from './request-trace';

/**
 * Exception filter: the only place that turns errors into HTTP responses, for all routes. Errors of messages pass through
 * it to ParleyServer, which maps them.
 */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  constructor(@Inject(platformToken) private readonly platform: Platform) {}

  catch(error: unknown, host: ArgumentsHost): void {
    if (host.getType() === 'rpc') throw error;
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    // Nobody reads the response, and the request log has the status 499.
    if (isDroppedBody(error, request)) return void reply.hijack();
    const known = toApiError(error);
    const id = newErrorId();
    (request as TracedRequest).errorType = known.type;
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
    if (known.retryAfterSeconds !== undefined) reply.header('retry-after', String(known.retryAfterSeconds));
    reply
      .code(known.code)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(toErrorBody(known, id)));
  }
}

function isDroppedBody(error: unknown, { raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
}
