import { createHash, timingSafeEqual } from 'node:crypto';
import { isLocalOnly } from '@parley/config/loopback';
import { ApiError } from '@parley/contracts/errors';
import type { ProcessConfig } from './config';

export type MetricsSettings = Pick<ProcessConfig, 'host' | 'trustedProxies' | 'metricsToken' | 'metricsPort'>;

/**
 * Access to metrics on PORT. With a token: its holders. Without: only a process that listens on a loopback address,
 * without trusted proxies, serves them. Throws Unauthorized, or ResourceNotFound when METRICS_PORT is set.
 */
export function checkOnClientsPort(settings: MetricsSettings, authorization: string | undefined): void {
  if (settings.metricsToken !== undefined) return checkToken(settings, authorization);
  if (settings.metricsPort !== undefined)
    throw new ApiError('ResourceNotFound', 'Metrics are not served here, but on METRICS_PORT.');
  if (isLocalOnly(settings)) return;
  throw new ApiError(
    'Unauthorized',
    'Metrics are disabled here, because this port is reachable from other hosts: set METRICS_TOKEN and send it as bearer token, or set METRICS_PORT.',
  );
}

/** Throws Unauthorized unless the request has the metrics token. No token is required when none is set. */
export function checkToken({ metricsToken }: MetricsSettings, authorization = ''): void {
  if (metricsToken === undefined) return;
  const shown = /^Bearer (.*)$/i.exec(authorization)?.[1] ?? '';
  if (timingSafeEqual(digest(shown), digest(metricsToken))) return;
  throw new ApiError('Unauthorized', 'Metrics require METRICS_TOKEN as bearer token.');
}

/** Digests have equal length, as `timingSafeEqual` requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
