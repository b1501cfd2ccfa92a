/**
 * Of every answer that says nothing else: a browser guesses no types, runs and frames nothing of it, and tells nobody the
 * address, which may be a credential.
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};
