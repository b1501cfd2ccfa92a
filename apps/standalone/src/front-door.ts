import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { unavailable } from '@parley/contracts/errors';
import { Connections } from '@parley/service/connections';
import { newErrorId, toErrorBody } from '@parley/service/error-body';
import { configureServer } from '@parley/service/http-app';

type Route = (request: IncomingMessage, response: ServerResponse) => void;

/** The one HTTP server of the embedded mode. It listens before anything else starts, so that a taken port is told at once. */
export class FrontDoor {
  private route: Route = starting;
  private readonly connections: Connections;

  private constructor(private readonly server: Server) {
    this.connections = new Connections(server);
    server.on('request', (request, response) => this.route(request, response));
  }

  static async listen(port: number, host: string): Promise<FrontDoor> {
    const server = createServer();
    configureServer(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    return new FrontDoor(server);
  }

  get url(): string {
    const { address, port, family } = this.server.address() as AddressInfo;
    const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
    return `http://${family === 'IPv6' && host === address ? `[${host}]` : host}:${port}`;
  }

  open(route: Route): void {
    this.route = route;
  }

  /** Lets the requests under way end, for at most so long, and takes no further ones. */
  close(timeoutMs: number): Promise<void> {
    return this.connections.close(timeoutMs);
  }
}

function starting(_request: IncomingMessage, response: ServerResponse): void {
  const body = toErrorBody(unavailable('Parley is starting. Try again in a moment.'), newErrorId());
  response.writeHead(body.code, { 'content-type': 'application/json', 'retry-after': '1' }).end(JSON.stringify(body));
}
