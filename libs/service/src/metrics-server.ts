import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ConfigError } from '@parley/config/config';
import { notFound } from '@parley/contracts/errors';
import { newErrorId, toApiError, toErrorBody } from './error-body';
import type { Metrics } from './metrics';
import { checkToken, type MetricsSettings } from './metrics-access';
import { securityHeaders } from './security-headers';

/**
 * Serves `/metrics` only, on METRICS_PORT if set. Returns the function that stops it. Throws ConfigError when the
 * server cannot listen on the port.
 */
export async function serveMetrics(settings: MetricsSettings, metrics: Metrics): Promise<() => Promise<void>> {
  const { host, metricsPort } = settings;
  if (metricsPort === undefined) return () => Promise.resolve();
  const server = createServer((request, response) => void answer(settings, metrics, request, response));
  server.listen(metricsPort, host);
  await once(server, 'listening').catch((error: unknown) => {
    const { message } = error as Error;
    throw new ConfigError([`METRICS_PORT: cannot listen (${message}). Set another port.`]);
  });
  return async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
}

async function answer(
  settings: MetricsSettings,
  metrics: Metrics,
  { method = '', url = '', headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path] = url.split('?');
  try {
    if (!['GET', 'HEAD'].includes(method) || path !== '/metrics') throw notFound('path', path ?? '');
    checkToken(settings, headers.authorization);
    const text = await metrics.text();
    response.writeHead(200, { ...securityHeaders, 'content-type': metrics.contentType, 'content-length': text.length });
    response.end(method === 'HEAD' ? undefined : text);
  } catch (error) {
    const known = toErrorBody(toApiError(error), newErrorId());
    response.writeHead(known.code, { ...securityHeaders, 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(known));
  }
}
