import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** State of the proxy. When it swallows data, both ends see a slow peer. */
export type LinkState = 'carries' | 'swallows answers' | 'swallows everything';

/** ReadyForQuery message of Postgres, outside a transaction. */
const readyForQuery = Buffer.from('Z\0\0\0\x05I');

/** TCP proxy to a server that a test can break, like a network that fails silently. */
export class BreakableLink {
  state: LinkState = 'carries';
  /** Added latency of all data sent from now on, in both directions. */
  delayMs = 0;
  /** Appended to the packet in which Postgres sends ReadyForQuery; then the connection is closed. */
  lastWords?: Buffer;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (near) => this.join(near));
  }

  static async to(url: string): Promise<BreakableLink> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new BreakableLink(server, new URL(url));
  }

  get url(): string {
    const url = new URL(this.target);
    url.host = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** Closes every connection. New ones are accepted. */
  cut(): void {
    this.sockets.forEach((socket) => socket.destroy());
  }

  async stop(): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, 'close');
  }

  private join(near: Socket): void {
    const far = connect(Number(this.target.port), this.target.hostname);
    this.pass(near, far, () => this.state !== 'swallows everything');
    this.pass(
      far,
      near,
      () => this.state === 'carries',
      (data) =>
        this.lastWords && data.subarray(-readyForQuery.length).equals(readyForQuery)
          ? near.end(Buffer.concat([data, this.lastWords]))
          : near.write(data),
    );
  }

  private pass(
    from: Socket,
    to: Socket,
    isOpen: () => boolean,
    write: (data: Buffer) => unknown = (data) => to.write(data),
  ): void {
    // Deliveries are chained, so that the order stays when the delay becomes shorter.
    let arrived = Promise.resolve();
    const deliver = (action: () => unknown) => {
      const dueAt = performance.now() + this.delayMs;
      arrived = arrived.then(async () => {
        const ms = dueAt - performance.now();
        if (ms > 0) await sleep(ms);
        action();
      });
    };
    this.sockets.add(from);
    from.on('data', (data: Buffer) => isOpen() && deliver(() => to.destroyed || write(data)));
    // A closed proxy also hides from one end that the other has disconnected.
    from.on('close', () => {
      this.sockets.delete(from);
      if (isOpen()) deliver(() => to.destroy());
    });
    from.on('error', () => undefined);
  }
}
