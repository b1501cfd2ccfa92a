import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { WebSocket } from 'ws';
import type { Frame } from './frame';

const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Reverse proxies must not buffer the stream.
  'x-accel-buffering': 'no',
};

export interface Connection {
  kind: 'sse' | 'websocket';
  /** Bytes written but not yet sent. */
  unsentBytes: number;
  write(frame: Frame): void;
  ping(): void;
  /** Closes the connection after pending writes. */
  end(isStopping: boolean): void;
  destroy(): void;
  onGone(listener: () => void): void;
}

const pingEvent = Buffer.from('event: message\ndata: ping\n\n');
const pingText = Buffer.from('ping');

export class SseConnection implements Connection {
  readonly kind = 'sse';

  /** Sends the head of the response. Undefined when the client has disconnected. */
  static open(reply: FastifyReply): SseConnection | undefined {
    const { raw } = reply;
    if (raw.destroyed) return undefined;
    reply.hijack();
    raw.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...eventStreamHeaders });
    raw.flushHeaders();
    return new SseConnection(raw);
  }

  private constructor(private readonly response: ServerResponse) {
    response.on('error', ignore);
  }

  get unsentBytes(): number {
    return this.response.writableLength;
  }

  write(frame: Frame): void {
    this.response.write(frame.asEvent);
    // Node corks the response until the next tick; a signal must not arrive after the answer to the request that caused
    // it.
    this.response.uncork();
  }

  ping(): void {
    this.response.write(pingEvent);
  }

  end(): void {
    this.response.end();
  }

  destroy(): void {
    this.response.destroy();
  }

  onGone(listener: () => void): void {
    this.response.once('close', listener);
  }
}

const text = { binary: false };
const closed = 1000;
const goingAway = 1001;

export class WebSocketConnection implements Connection {
  readonly kind = 'websocket';

  constructor(
    private readonly socket: WebSocket,
    maxUnsentBytes: number,
  ) {
    socket.on('error', ignore);
    // A client that sends pings without reading would fill the memory with pongs.
    socket.on('ping', (data) => socket.bufferedAmount <= maxUnsentBytes && socket.pong(data));
  }

  get unsentBytes(): number {
    return this.socket.bufferedAmount;
  }

  write(frame: Frame): void {
    this.socket.send(frame.asText, text);
  }

  ping(): void {
    this.socket.send(pingText, text);
  }

  end(isStopping: boolean): void {
    this.socket.close(isStopping ? goingAway : closed);
  }

  destroy(): void {
    this.socket.terminate();
  }

  onGone(listener: () => void): void {
    this.socket.once('close', listener);
  }
}

/** An error closes the connection, which `onGone` reports. */
function ignore(): void {}
