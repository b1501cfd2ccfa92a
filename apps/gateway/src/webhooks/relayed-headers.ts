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

/**
 * Headers that pass on the origin of the platform, beside those of integrations and their senders (`x-*`): they concern the
 * answer alone. Any other may change what browsers do with further pages of the origin, also one that does not exist yet.
 */
const answerHeaders = new Set([
  'allow',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'pragma',
  'retry-after',
  'vary',
  // Handshake of CloudEvents.
  'webhook-allowed-origin',
  'webhook-allowed-rate',
]);

/** By these the platform's support finds a request, and readers of documents find the policy of a whole host. */
const platformHeaders = new Set(['x-error-id', 'x-permitted-cross-domain-policies', 'x-request-id']);

/** Instructions to the platform, and to proxies before it, which would send internal files or take a gateway for broken. */
const instructions = /^x-(accel-|bp-|envoy-|lighttpd-|litespeed-|reproxy-|sendfile)/;

const isToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const isValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Headers of an integration's answer, without instructions to the platform and to proxies. Pages on the origin of the
 * platform are sandboxed: they have an origin of their own, and cannot read what the platform stores in a browser.
 * @param isOwnHost whether the host serves webhooks only
 */
export function relayedHeaders(headers: Record<string, string>, isOwnHost: boolean): Record<string, string> {
  const relayed = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name, value]) => isToken.test(name) && isValue.test(value) && !instructions.test(name))
    .filter(([name]) => (isOwnHost ? !connectionHeaders.has(name) : concernsAnswer(name)));
  return {
    ...Object.fromEntries(relayed),
    ...(!isOwnHost && {
      'content-security-policy': 'sandbox allow-forms allow-scripts',
      'x-content-type-options': 'nosniff',
    }),
  };
}

function concernsAnswer(name: string): boolean {
  return answerHeaders.has(name) || (name.startsWith('x-') && !platformHeaders.has(name));
}
