import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the link does with what is sent over it. Swallowing looks to both ends as if the other one were just slow. */
export type LinkState = 'carries' | 'swallows answers' | 'swallows everything';

/** How Postgres says that it waits for a statement, outside a transaction. */
const readyForQuery = Buffer.from('Z\0\0\0\x05I');

/** A way to a server that a test can break, as a network does that fails without telling anyone. */
export class BreakableLink {
  /** Holds for connections that are open already, too. */
  state: LinkState = 'carries';
  /** How much later than it could everything arrives that is sent from now on, in either direction. */
  delayMs = 0;
  /** What Postgres is made to say in the packet in which it has become ready, and then it hangs up. */
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

  /** The server's address by way of this link. */
  get url(): string {
    const url = new URL(this.target);
    url.host = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** Ends every connection. New ones may come. */
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
    // One after the other, so that what is sent later arrives later, also when the delay becomes shorter.
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
    from.on('data', (data) => isOpen() && deliver(() => to.destroyed || write(data)));
    // Also that one end has gone is kept from the other.
    from.on('close', () => {
      this.sockets.delete(from);
      if (isOpen()) deliver(() => to.destroy());
    });
    from.on('error', () => undefined);
  }
}
