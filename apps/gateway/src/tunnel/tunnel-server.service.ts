import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import { withTimeout } from '@parley/background/with-timeout';
import { ConfigError } from '@parley/config/config';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { isTunnelId, maxTunnelFrameBytes } from '@parley/contracts/tunnel';
import { Connections } from '@parley/service/connections';
import { newErrorId, toApiError, toErrorBody } from '@parley/service/error-body';
import type { Platform } from '@parley/service/platform';
import { rawErrorResponse } from '@parley/service/raw-error-response';
import { securityHeaders } from '@parley/service/security-headers';
import { platformToken } from '@parley/service/tokens';
import { TrustedProxies } from '@parley/service/trusted-proxies';
import { onWebSocket } from '@parley/service/web-sockets';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { type WebSocket, WebSocketServer } from 'ws';
import { GatewayConfig } from '../config';
import { networkOf } from '@parley/service/network';
import { closeCodes } from './tunnel';
import { TunnelsService } from './tunnels.service';

const maxSockets = 100;
const maxSocketsEach = 20;
const maxConnections = 500;
/** Bounds the connections of one address that send no request. Trusted proxies are exempt. */
const maxConnectionsEach = 100;
const maxOpensPerMinute = 60;
/** Retry-After for an address that holds its share. */
const fullRetrySeconds = 10;
/** Time for the headers of a request. */
const headersMs = 10_000;
/** Time at the stop for close frames to leave. */
const lastFramesMs = 100;

/** Port of the tunnel. WebSocket at `/<tunnelId>`; nothing is served over HTTP, because the platform uses the bus. */
@Injectable()
export class TunnelServer implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly proxies: TrustedProxies;
  private readonly opens = new RateLimiterMemory({ points: maxOpensPerMinute, duration: 60 });
  private readonly sockets = new Set<WebSocket>();
  /** Open sockets and handshakes by address. */
  private readonly socketsOf = new KeyCounts();
  private readonly connectionsOf = new KeyCounts();
  private opening = 0;
  private connections?: Connections;
  private isStopping = false;

  private readonly handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: maxTunnelFrameBytes,
  });

  constructor(
    private readonly tunnels: TunnelsService,
    private readonly config: GatewayConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    const { metrics } = platform;
    this.proxies = new TrustedProxies(config.trustedProxies);
    metrics.gauge('parley_tunnel_sockets', 'Open sockets of tunnels for `bp dev`.', () =>
      Promise.resolve(this.sockets.size),
    );
    metrics.watchUnderWay('tunnels', () => this.sockets.size + this.opening);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { host, tunnelPort, tunnelUrl } = this.config;
    if (!tunnelPort) return;
    if (!tunnelUrl) throw new ConfigError([missingUrl]);
    const server = createServer({ headersTimeout: headersMs, requestTimeout: headersMs }, answer);
    server.maxConnections = maxConnections;
    this.connections = new Connections(server);
    server.prependListener('connection', (socket: Socket) => this.limitConnections(socket));
    this.handshakes.on('wsClientError', ({ message }, socket) => {
      const error = new ApiError('InvalidPayload', `Invalid WebSocket handshake: ${message}.`);
      socket.end(rawErrorResponse(error, newErrorId()), () => socket.destroy());
    });
    onWebSocket(server, (request, socket, head) => void this.open(request, socket, head));
    await listen(server, tunnelPort, host);
    this.platform.logger.info({ port: tunnelPort, url: tunnelUrl }, 'the tunnel for bp dev is open');
  }

  /** Clients reconnect at once, so sockets close only when new connections go to other processes. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    const closed = [...this.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    this.tunnels.closeAll(closeCodes.goingAway, 'the server is stopping');
    await withTimeout(lastFramesMs, Promise.all(closed));
    await this.connections?.close(0);
  }

  private limitConnections(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    if (this.proxies.isTrusted(address)) return;
    const network = networkOf(address);
    if (this.connectionsOf.count(network) >= maxConnectionsEach) return void socket.destroy();
    this.connectionsOf.add(network, 1);
    socket.once('close', () => this.connectionsOf.add(network, -1));
  }

  private async open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', ignore);
    const id = request.url?.slice(1) ?? '';
    try {
      refusePages(request);
      const address = networkOf(this.proxies.senderOf(request));
      await this.limitRate(address);
      await this.takeSlot(address, () => this.connect(id, () => this.shakeHands(request, socket, head, address)));
    } catch (error) {
      const known = toApiError(error);
      this.platform.logger.info({ err: error, tunnel: redacted(id) }, 'a tunnel was refused');
      socket.end(rawErrorResponse(known, newErrorId()), () => socket.destroy());
    }
  }

  private async limitRate(address: string): Promise<void> {
    try {
      await this.opens.consume(address);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const seconds = Math.ceil(error.msBeforeNext / 1_000);
      throw new ApiError(
        'RateLimited',
        `Rate limit exceeded: ${maxOpensPerMinute} new tunnels per minute per address. Retry after ${seconds} s.`,
        { retryAfterSeconds: seconds },
      );
    }
  }

  private async takeSlot(address: string, work: () => Promise<void>): Promise<void> {
    if (this.isStopping) throw unavailable('The process is stopping. Connect again.');
    if (this.sockets.size + this.opening >= maxSockets) {
      this.platform.metrics.countShed('tunnels', 'under way');
      throw unavailable(`This gateway has reached its limit of ${maxSockets} tunnels. Retry after 1 s.`);
    }
    if (this.socketsOf.count(address) >= maxSocketsEach)
      throw new ApiError(
        'RateLimited',
        `One address may hold ${maxSocketsEach} tunnels of this gateway. Close one, or retry after ${fullRetrySeconds} s.`,
        { retryAfterSeconds: fullRetrySeconds },
      );
    this.opening += 1;
    this.socketsOf.add(address, 1);
    try {
      await work();
    } finally {
      this.opening -= 1;
      this.socketsOf.add(address, -1);
    }
  }

  /** Claims the id before the handshake, so that requests reach the client as soon as it is connected. */
  private async connect(id: string, shakeHands: () => WebSocket | undefined): Promise<void> {
    if (!isTunnelId(id))
      return shakeHands()?.close(closeCodes.invalidId, 'tunnel id: 1 to 128 letters, digits, "_", "|" or "-"');
    const tunnel = await this.tunnels.claim(id);
    const socket = shakeHands();
    if (!tunnel) return socket?.close(closeCodes.idInUse, 'another client uses this tunnel id');
    if (!socket) return tunnel.close(closeCodes.goingAway, 'the client has disconnected');
    tunnel.connect(socket);
    const { logger } = this.platform;
    logger.info({ tunnel: redacted(id) }, 'tunnel opened');
    socket.once('close', (code) => logger.info({ tunnel: redacted(id), code }, 'tunnel closed'));
  }

  /** Undefined when the client has disconnected. */
  private shakeHands(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): WebSocket | undefined {
    if (socket.destroyed || this.isStopping) return undefined;
    let connected: WebSocket | undefined;
    this.handshakes.handleUpgrade(request, socket, head, (webSocket) => {
      connected = webSocket;
      webSocket.on('error', ignore);
      this.sockets.add(webSocket);
      this.socketsOf.add(address, 1);
      webSocket.once('close', () => {
        this.sockets.delete(webSocket);
        this.socketsOf.add(address, -1);
      });
    });
    return connected;
  }
}

/** A page that learns a tunnel id could answer for the bot. Browsers always send an origin, the CLI never does. */
function refusePages({ headers }: IncomingMessage): void {
  if (headers.origin === undefined) return;
  throw new ApiError(
    'Forbidden',
    'The tunnel accepts no connection with an Origin header, as browsers send it for pages. Connect with `bp dev --tunnel-url`.',
  );
}

/** Without it the runtime would take bots behind the tunnel for servers of their own. */
const missingUrl =
  'TUNNEL_URL is missing: TUNNEL_PORT needs it, in the gateway and in the runtime. Set it to the URL at which `bp dev` reaches the tunnel.';

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem = code === 'EADDRINUSE' ? `port ${port} is in use` : `cannot listen (${message})`;
    throw new ConfigError([`TUNNEL_PORT: ${problem}. Set another port, or 0 to run without the tunnel for bp dev.`]);
  });
}

/** Does not read the body. */
function answer({ url }: IncomingMessage, response: ServerResponse): void {
  const isHealth = url === '/health';
  const error = new ApiError(
    'ResourceNotFound',
    'This port serves the WebSocket tunnel of `bp dev --tunnel-url` only.',
  );
  response
    .writeHead(isHealth ? 200 : 404, {
      ...securityHeaders,
      'content-type': 'application/json; charset=utf-8',
      connection: 'close',
    })
    .end(JSON.stringify(isHealth ? { status: 'ok' } : toErrorBody(error, newErrorId())));
}

/** The id is a credential: whoever knows it can receive the requests to the bot. */
function redacted(id: string): string {
  return `${id.slice(0, 4)}…`;
}

function ignore(): void {}
