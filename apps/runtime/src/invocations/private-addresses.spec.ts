import { allowsPrivate } from '@parley/egress/config';

const proxied = { host: '127.0.0.1', trustedProxies: '127.0.0.1' };

it.each([
  ['only this machine reaches the platform', { host: '127.0.0.1' }, true],
  ['it listens for others', { host: '0.0.0.0' }, false],
  ['a proxy publishes it', proxied, false],
  ['a proxy publishes it, and EGRESS_ALLOW_PRIVATE is true', { ...proxied, egressAllowPrivate: 'true' as const }, true],
  ['EGRESS_ALLOW_PRIVATE is false', { host: '127.0.0.1', egressAllowPrivate: 'false' as const }, false],
])('decides whether bots at private addresses are called when %s: %j, %s', (_case, config, expected) => {
  expect(allowsPrivate(config)).toBe(expected);
});
