import { randomUUID } from 'node:crypto';
import type { ApiError } from '@parley/contracts/errors';
import {
  maxTunnelFrameBytes,
  maxTunnelRequests,
  maxTunnelTimeoutMs,
  tunnelError,
  type TunnelReply,
  type TunnelRequest,
} from '@parley/contracts/tunnel';
import type { WebSocket } from 'ws';
import { readTunnelFrame, requestFrame } from './tunnel-frame';

/** Unsent bytes above which a tunnel takes no further requests. */
const maxUnsentBytes = 2 * maxTunnelFrameBytes;
/** The client says hello every 5 s, for the first time 5 s after it has connected. */
const firstHelloMs = 10_000;
const helloMs = 30_000;
const defaultTimeoutMs = 60_000;
/** Larger frames are read only while a request is in progress, because parsing them takes long. */
const smallFrameBytes = 1_000;

/** Close codes of the protocol of `@bpinternal/tunnel`, and those of WebSocket. */
export const closeCodes = { goingAway: 1001, invalidId: 4000, idInUse: 4001, invalidFrame: 4002, silent: 4004 };

interface Pending {
  resolve: (reply: TunnelReply) => void;
  reject: (error: ApiError) => void;
  timer: NodeJS.Timeout;
}

/**
 * Server end of a tunnel: sends requests to its client and matches the answers. The classes of `@bpinternal/tunnel` are
 * not used, because an invalid frame throws in them, frames have no size limit, and an id may have two clients.
 */
export class Tunnel {
  private readonly pending = new Map<string, Pending>();
  private socket?: WebSocket;
  private silence?: NodeJS.Timeout;
  private isEnded = false;

  /** @param onEnd called once, when the tunnel ends */
  constructor(private readonly onEnd: () => void) {}

  connect(socket: WebSocket): void {
    this.socket = socket;
    socket.on('message', (data, isBinary) => this.receive(socket, data as Buffer, isBinary));
    // A client that sends pings without reading would fill the memory with pongs.
    socket.on('ping', (data) => socket.bufferedAmount === 0 && socket.pong(data));
    // A frame that is too large is an error; the close event may come later.
    socket.on('error', () => this.end());
    socket.once('close', () => this.end());
    this.expectHello(firstHelloMs);
  }

  /** Throws the errors of `tunnelFailureOf`. */
  async request(request: TunnelRequest): Promise<TunnelReply> {
    const { socket } = this;
    if (!socket || this.isEnded) throw tunnelError('not connected');
    if (this.pending.size >= maxTunnelRequests || socket.bufferedAmount > maxUnsentBytes) throw tunnelError('busy');
    const { requestId: id = randomUUID() } = request;
    const frame = requestFrame(id, request);
    if (Buffer.byteLength(frame) > maxTunnelFrameBytes) throw tunnelError('too large');
    const timeoutMs = Math.min(request.timeoutMs ?? defaultTimeoutMs, maxTunnelTimeoutMs);
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.pending.delete(id);
        reject(tunnelError('timed out'));
      };
      this.pending.set(id, { resolve, reject, timer: setTimeout(giveUp, timeoutMs) });
      socket.send(frame);
    });
  }

  isPending(requestId: string): boolean {
    return this.pending.has(requestId);
  }

  close(code: number, reason: string): void {
    this.socket?.close(code, reason);
    this.end();
  }

  private receive(socket: WebSocket, data: Buffer, isBinary: boolean): void {
    if (this.isEnded || (data.length > smallFrameBytes && this.pending.size === 0)) return;
    const frame = isBinary ? undefined : readTunnelFrame(data.toString());
    if (!frame) return this.close(closeCodes.invalidFrame, 'invalid response payload');
    if (frame.type === 'hello') return this.greet(socket);
    const pending = this.pending.get(frame.requestId);
    // The answer may come after the time limit.
    if (!pending) return;
    this.pending.delete(frame.requestId);
    clearTimeout(pending.timer);
    pending.resolve(frame.reply);
  }

  /** The ping keeps the connection open at proxies that watch both directions. */
  private greet(socket: WebSocket): void {
    this.expectHello(helloMs);
    if (socket.bufferedAmount === 0) socket.ping();
  }

  private expectHello(timeoutMs: number): void {
    clearTimeout(this.silence);
    const giveUp = () => this.close(closeCodes.silent, `no hello within ${timeoutMs / 1_000} s`);
    this.silence = setTimeout(giveUp, timeoutMs).unref();
  }

  private end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    clearTimeout(this.silence);
    for (const { reject, timer } of this.pending.values()) {
      clearTimeout(timer);
      reject(tunnelError('disconnected'));
    }
    this.pending.clear();
    this.onEnd();
  }
}
