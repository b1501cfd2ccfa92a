import type { ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import type { Frame } from './frame';

/** The connection of one listening client. */
export interface Wire {
  kind: 'sse' | 'websocket';
  /** What the client has not taken yet. */
  unsentBytes: number;
  write(frame: Frame): void;
  ping(): void;
  /** What was written is sent first. */
  end(isStopping: boolean): void;
  destroy(): void;
  /** Calls the listener when the client has gone, or was made to. */
  onGone(listener: () => void): void;
}

const pingEvent = Buffer.from('event: message\ndata: ping\n\n');
const pingText = Buffer.from('ping');

export class SseWire implements Wire {
  readonly kind = 'sse';

  constructor(private readonly response: ServerResponse) {
    response.on('error', ignore);
  }

  get unsentBytes(): number {
    return this.response.writableLength;
  }

  write(frame: Frame): void {
    this.response.write(frame.asEvent);
    // Node would keep it until the turn ends, and the answer to what it is about might be there first.
    this.response.socket?.uncork();
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

export class WebSocketWire implements Wire {
  readonly kind = 'websocket';

  constructor(
    private readonly socket: WebSocket,
    maxUnsentBytes: number,
  ) {
    socket.on('error', ignore);
    // One that asks without ever reading would fill our memory with answers.
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

/** What goes wrong closes the connection, and that is told. */
function ignore(): void {}
