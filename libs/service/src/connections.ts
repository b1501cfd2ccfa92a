import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { within } from '@parley/background/within';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { newErrorId, toErrorBody } from './error-body';

/** For the answers to what was not finished in time to leave. */
const lastAnswersMs = 100;

/** The connections of an HTTP server, which can be closed in bounded time whatever its clients do. */
export class Connections {
  private readonly sockets = new Set<Socket>();
  /** Requests whose head has come and whose answer has not ended. */
  private readonly underWay = new Map<ServerResponse, IncomingMessage>();
  private isClosing = false;

  constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      // One that offers an upgrade with every request comes again with each of them.
      if (this.sockets.has(socket)) return;
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.underWay.set(response, request);
      response.once('close', () => this.end(request, response));
    });
  }

  /**
   * Takes nothing new, drops connections without a request, and lets requests under way end for so long. What has not
   * ended then is answered with an error, or cut where the answer has begun.
   */
  async close(finishMs: number): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.isClosing = true;
    const busy = new Set([...this.underWay.values()].map(({ socket }) => socket));
    for (const socket of this.sockets) if (!busy.has(socket)) socket.destroy();
    if (await within(finishMs, closed)) return;
    for (const [response, request] of this.underWay) answerUnfinished(request, response);
    if (await within(lastAnswersMs, closed)) return;
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private end({ socket }: IncomingMessage, response: ServerResponse): void {
    this.underWay.delete(response);
    if (this.isClosing) socket.destroySoon();
  }
}

/** A client that still sends was not heard to the end, so nothing was done; else it cannot be known. */
function answerUnfinished(request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) return;
  const error = request.complete
    ? new ApiError('OperationTimeout', 'The process that works on it stops before it is done. It may still be done.')
    : unavailable('This process stops before the whole request has come. Nothing was done: send it again.');
  const id = newErrorId();
  response.statusCode = error.code;
  response.setHeader('content-type', 'application/json; charset=utf-8').setHeader('connection', 'close');
  response.setHeader('x-error-id', id);
  if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds);
  // Whoever still reads the request would wait for ever: once it is answered, Node says nothing of its end.
  response.end(JSON.stringify(toErrorBody(error, id)), () => request.destroy());
}
