import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { Connections } from '@parley/service/connections';
import { newErrorId, toErrorBody } from '@parley/service/error-body';
import { configureServer } from '@parley/service/http-app';
import { rawErrorResponse } from '@parley/service/raw-error-response';
import { securityHeaders } from '@parley/service/security-headers';
import { onWebSocket } from '@parley/service/web-sockets';

type Route = (request: IncomingMessage, response: ServerResponse) => void;
type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export class CannotListen extends Error {
  constructor({ code, message }: NodeJS.ErrnoException, host: string, port: number) {
    const reasons: Record<string, string> = {
      EADDRINUSE: `Port ${port} is in use by another program. Stop it, or set PORT to another port.`,
      EACCES: `This user may not listen on port ${port}. Set PORT to a port above 1023.`,
    };
    super(
      reasons[code ?? ''] ??
        `Cannot listen on ${host}: ${message}. Set HOST to an address of this machine, such as 127.0.0.1, or to 0.0.0.0 for all.`,
    );
  }
}

/** HTTP server of the embedded mode. Listens before anything else starts, so that a port in use is reported at once. */
export class PublicListener {
  private route: Route = refuse;
  private upgrade: Upgrade = refuseUpgrade;
  private readonly connections: Connections;

  private constructor(private readonly server: Server) {
    this.connections = new Connections(server);
    server.on('request', (request, response) => this.route(request, response));
    onWebSocket(server, (request, socket, head) => this.upgrade(request, socket, head));
  }

  static async listen(port: number, host: string): Promise<PublicListener> {
    const server = createServer();
    configureServer(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(new CannotListen(error, host, port)));
      server.listen(port, host, resolve);
    });
    return new PublicListener(server);
  }

  get url(): string {
    const { address, port, family } = this.server.address() as AddressInfo;
    const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
    return `http://${family === 'IPv6' && host === address ? `[${host}]` : host}:${port}`;
  }

  open(route: Route, upgrade: Upgrade): void {
    this.route = route;
    this.upgrade = upgrade;
  }

  /** Refuses new requests, and waits at most `timeoutMs` for requests in progress. */
  close(timeoutMs: number): Promise<void> {
    return this.connections.close(timeoutMs);
  }
}

const starting = 'Parley is starting; the request was not processed. Retry after 1 s.';

/** Clients of a listen stream reconnect without limit after a server error, but wait for Retry-After after 429. */
function refusal({ url = '' }: IncomingMessage): ApiError {
  return /\/listen(\?|$)/.test(url)
    ? new ApiError('RateLimited', starting, { retryAfterSeconds: 1 })
    : unavailable(starting);
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  const body = toErrorBody(refusal(request), newErrorId());
  const headers = { ...securityHeaders, 'content-type': 'application/json', 'retry-after': '1' };
  response.writeHead(body.code, headers).end(JSON.stringify(body));
}

function refuseUpgrade(request: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => undefined);
  socket.end(rawErrorResponse(refusal(request), newErrorId()), () => socket.destroy());
}
