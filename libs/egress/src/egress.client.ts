import { lookup as resolveName } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { assertAllowedAddress } from './address-rules';
import type { Agents } from './agents';
import { AddressRefused, RequestFailed, RequestTimedOut, RequestTooLarge, ResponseTooLarge } from './egress-errors';
import { connectTimeoutMs, maxHeaderBytes } from './egress-limits';
import { Exchange, type EgressResponse, type ExchangeOptions } from './exchange';

const defaultMaxRequestBytes = 5_000_000;
const defaultMaxResponseBytes = 5_000_000;

const failures: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed before the response was complete',
  EPIPE: 'the connection was closed before the response was complete',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the connection was closed before the response was complete',
  ENOTFOUND: 'the name cannot be resolved',
  EAI_AGAIN: 'the name cannot be resolved at the moment',
  ETIMEDOUT: 'no connection could be established',
  UND_ERR_CONNECT_TIMEOUT: `no connection could be established within ${connectTimeoutMs} ms`,
  UND_ERR_HEADERS_OVERFLOW: `the response headers exceed ${maxHeaderBytes} bytes`,
  UND_ERR_DESTROYED: 'the client is closed',
};

export interface EgressOptions {
  /** Permits loopback and private addresses. Link-local and metadata addresses are refused all the same. */
  allowPrivate: boolean;
  /** All addresses of a name; by default as the operating system resolves it. */
  resolve?: (hostname: string) => Promise<LookupAddress[]>;
}

export interface EgressFetch {
  headers: Record<string, string>;
  /** Time until the last byte of the response. */
  timeoutMs: number;
  /** 5,000,000 by default. */
  maxResponseBytes?: number;
  signal?: AbortSignal;
}

export interface EgressRequest extends EgressFetch {
  body: string | Buffer;
  /** 5,000,000 by default. */
  maxRequestBytes?: number;
}

interface Sent extends EgressFetch {
  method: 'GET' | 'POST';
  body?: Buffer;
}

/**
 * HTTP client for URLs that customers choose. Connects only to addresses that it has checked, resolves a name once per
 * connection, follows no redirect, decompresses nothing, and bounds time, size and connections of each server.
 */
export class EgressClient {
  private agents?: Promise<Agents>;
  private readonly resolve: (hostname: string) => Promise<LookupAddress[]>;

  constructor(private readonly options: EgressOptions) {
    this.resolve = options.resolve ?? ((hostname) => resolveName(hostname, { all: true }));
  }

  /**
   * Repeats the request once, on a new connection, when the server had closed the reused one before any byte of a response.
   * Throws AddressRefused, RequestTooLarge, RequestTimedOut, RequestFailed, ResponseTooLarge, or the reason of the signal.
   */
  async post(url: string, request: EgressRequest): Promise<EgressResponse> {
    const target = this.checkedUrl(url);
    const body = Buffer.from(request.body);
    const { maxRequestBytes = defaultMaxRequestBytes } = request;
    if (body.length > maxRequestBytes) {
      throw new RequestTooLarge(
        `The body has ${body.length} bytes. Requests may have at most ${maxRequestBytes} bytes.`,
      );
    }
    return this.within(target, { ...request, method: 'POST', body });
  }

  /** Like `post`, without a body. */
  async get(url: string, request: EgressFetch): Promise<EgressResponse> {
    return this.within(this.checkedUrl(url), { ...request, method: 'GET' });
  }

  /** Ends running requests with RequestFailed. */
  async close(): Promise<void> {
    await (await this.agents)?.destroy();
  }

  private async within(target: URL, request: Sent): Promise<EgressResponse> {
    request.signal?.throwIfAborted();

    const { timeoutMs } = request;
    const limit = new AbortController();
    const timer = setTimeout(
      () => limit.abort(new RequestTimedOut(`${target.origin} gave no complete response within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    const cancel = () => limit.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await this.send(target, request, limit.signal);
    } catch (error) {
      limit.signal.throwIfAborted();
      throw toEgressError(error, target.origin);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', cancel);
    }
  }

  /** Lazy import: loading it takes 10 MB and a tenth of a second. */
  private async openAgents(): Promise<Agents> {
    const { Agents } = await import('./agents');
    return new Agents(this.lookup);
  }

  private async send(target: URL, request: Sent, signal: AbortSignal): Promise<EgressResponse> {
    const { maxResponseBytes = defaultMaxResponseBytes } = request;
    const { reusing, connecting } = await (this.agents ??= this.openAgents());
    const first = new Exchange(target.origin, maxResponseBytes, signal);
    try {
      return await dispatch(reusing, target, request, first);
    } catch (error) {
      if (!first.isStaleConnection(error)) throw error;
      return dispatch(connecting, target, request, new Exchange(target.origin, maxResponseBytes, signal));
    }
  }

  private checkedUrl(url: string): URL {
    if (!URL.canParse(url)) throw new AddressRefused('The URL is invalid. Use one such as https://bot.example.org/.');
    const target = new URL(url);
    if (target.protocol !== 'http:' && target.protocol !== 'https:') {
      throw new AddressRefused(`The URL has the protocol "${target.protocol}". Use http: or https:.`);
    }
    if (target.username || target.password) {
      throw new AddressRefused('The URL contains a user name or a password. Remove them.');
    }
    // Sockets resolve names only: `lookup` never sees an address that is part of the URL.
    const hostname = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(hostname)) assertAllowedAddress(hostname, hostname, this.options);
    return target;
  }

  private readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    this.checkedAddresses(hostname).then(
      (addresses) => (all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family)),
      (error: Error) => callback(error, []),
    );
  };

  private async checkedAddresses(hostname: string): Promise<LookupAddress[]> {
    const addresses = await this.resolve(hostname);
    if (addresses.length === 0) throw Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
    for (const { address } of addresses) assertAllowedAddress(address, hostname, this.options);
    return addresses;
  }
}

function dispatch(agent: Agent, target: URL, request: Sent, exchange: Exchange): Promise<EgressResponse> {
  const options: ExchangeOptions = {
    origin: target.origin,
    path: `${target.pathname}${target.search}`,
    method: request.method,
    headers: { ...request.headers, 'accept-encoding': 'identity' },
    body: request.body,
    exchange,
  };
  agent.dispatch(options, exchange);
  return exchange.response;
}

function toEgressError(error: unknown, origin: string): Error {
  if (error instanceof AddressRefused || error instanceof ResponseTooLarge) return error;
  const { code = 'unknown', message } = error as NodeJS.ErrnoException;
  return new RequestFailed(`The request to ${origin} failed: ${failures[code] ?? message} (${code}).`, code, {
    cause: error,
  });
}
