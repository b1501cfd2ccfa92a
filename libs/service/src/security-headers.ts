/**
 * Default headers of every response: no MIME sniffing, no scripts, no framing, and no referrer, because a URL may be a
 * credential.
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};
