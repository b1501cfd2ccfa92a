import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { withTimeout } from '@parley/background/with-timeout';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { newErrorId, toErrorBody } from './error-body';

/** Time for the error responses of unfinished requests to leave. */
const lastAnswersMs = 100;

/** Connections of an HTTP server, which can be closed in bounded time. */
export class Connections {
  /** Responses to active requests: headers received, response not closed. Several with HTTP pipelining. */
  private readonly responses = new Map<Socket, ServerResponse[]>();
  private isClosing = false;

  constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      this.responses.set(socket, []);
      socket.once('close', () => this.responses.delete(socket));
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.responses.get(socket)?.push(response);
      response.once('close', () => this.end(socket, response));
    });
  }

  /**
   * Graceful close: accepts nothing new, drops idle connections and waits for active requests up to the timeout. Then
   * answers unfinished requests with an error, or closes the connection when the response has begun.
   */
  async close(finishMs: number): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.isClosing = true;
    for (const [socket, active] of this.responses) if (active.length === 0) socket.destroy();
    if (await withTimeout(finishMs, closed)) return;
    for (const active of this.responses.values()) active.forEach(answerUnfinished);
    if (await withTimeout(lastAnswersMs, closed)) return;
    for (const socket of this.responses.keys()) socket.destroy();
    await closed;
  }

  private end(socket: Socket, response: ServerResponse): void {
    const active = this.responses.get(socket) ?? [];
    const index = active.indexOf(response);
    if (index !== -1) active.splice(index, 1);
    if (this.isClosing) socket.destroySoon();
  }
}

/** 503 for an incomplete request, which was not processed; 504 for a complete one, which may have been. */
function answerUnfinished(response: ServerResponse): void {
  if (response.headersSent) return;
  const request = response.req;
  const error = request.complete
    ? new ApiError('OperationTimeout', 'The process stopped before the operation was finished. It may still be done.')
    : unavailable(
        'The process stopped before the whole request had arrived; the request was not processed. Send it again.',
      );
  const id = newErrorId();
  response.statusCode = error.code;
  response.setHeader('content-type', 'application/json; charset=utf-8').setHeader('connection', 'close');
  response.setHeader('x-error-id', id);
  if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds);
  // Without `destroy`, a reader of the request body would wait forever: Node emits no end after the response.
  response.end(JSON.stringify(toErrorBody(error, id)), () => request.destroy());
}
