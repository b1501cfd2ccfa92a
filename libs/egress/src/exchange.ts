import type { Dispatcher } from 'undici';
import { BodyBuffer } from './body-buffer';
import { ResponseTooLarge } from './egress-errors';

export interface EgressResponse {
  status: number;
  /** Names in lower case; repeated headers are joined by ", ". */
  headers: Record<string, string>;
  /** Bytes as received: never decompressed. */
  body: Buffer;
}

export interface ExchangeOptions extends Dispatcher.DispatchOptions {
  exchange: Exchange;
}

/** Connection that carries a request. */
export interface CountingConnection {
  /** True when the socket has carried another request. */
  countRequest(): boolean;
}

/** Errors of a connection that the other side closed. */
const closedCodes = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

/** One request on a connection: collects the response and ends the connection at the limits. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<EgressResponse>;
  connection?: CountingConnection;

  private readonly body: BodyBuffer;
  private controller?: Dispatcher.DispatchController;
  private isSocketReused = false;
  private hasResponseStarted = false;
  private status = 0;
  private headers: Record<string, string> = {};
  private resolve!: (response: EgressResponse) => void;
  private reject!: (error: Error) => void;

  constructor(
    private readonly origin: string,
    private readonly maxResponseBytes: number,
    private readonly signal: AbortSignal,
  ) {
    this.body = new BodyBuffer(maxResponseBytes);
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Requests that wait for a connection have no controller yet.
    signal.addEventListener('abort', () => {
      this.reject(signal.reason as Error);
      this.controller?.abort(signal.reason as Error);
    });
  }

  /** True when the server closed an idle connection at the moment of this request: RFC 9110, section 9.3.1. */
  isStaleConnection(error: unknown): boolean {
    const { code } = error as { code?: string };
    return this.isSocketReused && !this.hasResponseStarted && closedCodes.includes(code ?? '');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.isSocketReused = this.connection!.countRequest();
    if (this.signal.aborted) controller.abort(this.signal.reason as Error);
  }

  onResponseStarted(): void {
    this.hasResponseStarted = true;
  }

  /** Runs for informational responses too, before the final one. */
  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.status = status;
    this.headers = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
    );
    if (Number(this.headers['content-length'] ?? 0) > this.maxResponseBytes) controller.abort(this.tooLarge());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.body.append(chunk)) controller.abort(this.tooLarge());
  }

  onResponseEnd(): void {
    this.resolve({ status: this.status, headers: this.headers, body: this.body.toBuffer() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.reject(error);
  }

  private tooLarge(): ResponseTooLarge {
    return new ResponseTooLarge(
      `The response of ${this.origin} exceeds ${this.maxResponseBytes} bytes. Answer with a smaller body.`,
    );
  }
}
