import { isLocalOnly, isLoopback } from './loopback';

it.each([
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['192.168.1.7', false],
  ['127.0.0.1.example.com', false],
  ['parley.example.com', false],
])('decides whether %s is a loopback address: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

it.each([
  [{ host: '127.0.0.1' }, true],
  [{ host: '127.0.0.1', trustedProxies: '127.0.0.1' }, false],
  [{ host: '0.0.0.0' }, false],
])('decides whether a process with %j is reached by this machine only: %s', (settings, expected) => {
  expect(isLocalOnly(settings)).toBe(expected);
});
