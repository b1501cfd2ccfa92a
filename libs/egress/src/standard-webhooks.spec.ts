import { randomBytes } from 'node:crypto';
import { newSigningSecret } from '@parley/secrets/signing-secret';
import { Webhook } from 'standardwebhooks';
import { signWebhook } from './standard-webhooks';

const webhook = { id: 'evt_1', timestamp: new Date(), body: '{"text":"\\u00e9"}' };

it('signs so that the reference verifier accepts it with the secret of a bot', () => {
  const secret = newSigningSecret();

  const headers = signWebhook({ ...webhook, secrets: [secret] });

  expect(new Webhook(secret, { format: 'raw' }).verify(webhook.body, headers)).toEqual({ text: 'é' });
});

it('signs so that the reference verifier accepts it with a secret in base64', () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;

  const headers = signWebhook({ ...webhook, secrets: [secret] });

  expect(new Webhook(secret).verify(webhook.body, headers)).toEqual({ text: 'é' });
});

it('signs for both secrets during a rotation', () => {
  const secrets = [newSigningSecret(), newSigningSecret()];

  const headers = signWebhook({ ...webhook, body: Buffer.from(webhook.body), secrets });

  for (const secret of secrets) {
    expect(new Webhook(secret, { format: 'raw' }).verify(webhook.body, headers)).toEqual({ text: 'é' });
  }
});

it.each([
  ['another secret', newSigningSecret(), webhook.body, {}],
  ['another body', undefined, '{}', {}],
  ['another id', undefined, webhook.body, { 'webhook-id': 'evt_2' }],
])('signs so that the reference verifier refuses it with %s', (_, otherSecret, body, otherHeaders) => {
  const secret = newSigningSecret();

  const headers = { ...signWebhook({ ...webhook, secrets: [secret] }), ...otherHeaders };

  expect(() => new Webhook(otherSecret ?? secret, { format: 'raw' }).verify(body, headers)).toThrow(
    'No matching signature found',
  );
});

it('writes the signature in the documented form', () => {
  const headers = signWebhook({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: new Date(1_614_265_330_999),
    body: '{"test": 2432232314}',
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  });

  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});
