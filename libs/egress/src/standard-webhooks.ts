import { createHmac } from 'node:crypto';

const base64Prefix = 'whsec_';

export interface SignedWebhook {
  /** The same for each attempt, so that the receiver recognises a repeat. */
  id: string;
  timestamp: Date;
  body: string | Buffer;
  /** One signature each: during a rotation, the new and the former secret. */
  secrets: string[];
}

export interface WebhookHeaders extends Record<string, string> {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/**
 * Headers of the Standard Webhooks scheme, symmetric (`v1`). The key of a secret with the prefix `whsec_` is the rest in
 * base64; all other secrets, such as the hexadecimal ones of bots, are used as their UTF-8 bytes. Receivers verify the
 * latter by `new Webhook(secret, { format: 'raw' })` of the package `standardwebhooks`.
 */
export function signWebhook({ id, timestamp, body, secrets }: SignedWebhook): WebhookHeaders {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') };
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(base64Prefix)
    ? Buffer.from(secret.slice(base64Prefix.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
