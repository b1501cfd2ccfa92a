/** Headers that concern one connection, or that the gateway sets itself. */
const connectionHeaders = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers that would change what browsers do with other pages of the same origin. */
const originHeaders = new Set([
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'content-security-policy-report-only',
  'origin-agent-cluster',
  'reporting-endpoints',
  'report-to',
  'nel',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'x-content-type-options',
]);

const isToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const isValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Headers of an integration's answer, without instructions to the platform (`x-bp-*`). Pages on the origin of the
 * platform are sandboxed: they have an origin of their own, and cannot read what the platform stores in a browser.
 * @param isOwnHost whether the host serves webhooks only
 */
export function relayedHeaders(headers: Record<string, string>, isOwnHost: boolean): Record<string, string> {
  const relayed = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name, value]) => isToken.test(name) && isValue.test(value))
    .filter(([name]) => !connectionHeaders.has(name) && !name.startsWith('x-bp-'))
    .filter(([name]) => isOwnHost || !(originHeaders.has(name) || name.startsWith('access-control-')));
  return {
    ...Object.fromEntries(relayed),
    ...(!isOwnHost && {
      'content-security-policy': 'sandbox allow-forms allow-scripts',
      'x-content-type-options': 'nosniff',
    }),
  };
}
