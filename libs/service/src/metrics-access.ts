import { createHash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { ApiError } from '@parley/contracts/errors';
import type { ProcessConfig } from './config';

export type MetricsSettings = Pick<ProcessConfig, 'host' | 'trustedProxies' | 'metricsToken' | 'metricsPort'>;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/**
 * Who may read metrics on the port of clients. Without a token only those may who can be on this machine alone: a process
 * that listens elsewhere, or behind a proxy, shows them to nobody. Throws Unauthorized, or ResourceNotFound where they are
 * served on a port of their own.
 */
export function checkOnClientsPort(settings: MetricsSettings, authorization: string | undefined): void {
  if (settings.metricsToken !== undefined) return checkToken(settings, authorization);
  if (settings.metricsPort !== undefined)
    throw new ApiError('ResourceNotFound', 'Metrics are served on METRICS_PORT, and not here.');
  if (settings.trustedProxies === undefined && isLoopback(settings.host)) return;
  throw new ApiError(
    'Unauthorized',
    'Others can reach this port, so it shows no metrics: set METRICS_TOKEN and show it as bearer token, or set METRICS_PORT.',
  );
}

/** Throws Unauthorized unless the token is shown, where there is one. */
export function checkToken({ metricsToken }: MetricsSettings, authorization = ''): void {
  if (metricsToken === undefined) return;
  const shown = /^Bearer (.*)$/i.exec(authorization)?.[1] ?? '';
  if (timingSafeEqual(digest(shown), digest(metricsToken))) return;
  throw new ApiError('Unauthorized', 'Metrics are for those who show METRICS_TOKEN as bearer token.');
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host === 'localhost';
  return loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');
}

/** Of one length, whatever the token's. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
