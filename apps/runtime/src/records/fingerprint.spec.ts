import { fingerprintOf, normalizedMessage } from './fingerprint';

it.each([
  ['connect ECONNREFUSED 127.0.0.1:8080', 'connect ECONNREFUSED <number>'],
  ['The user "alice" was not found.', 'The user <text> was not found.'],
  ["Cannot read properties of undefined (reading 'name')", 'Cannot read properties of undefined (reading <text>)'],
  ["It doesn't work and it won't.", "It doesn't work and it won't."],
  ['GET https://example.com/a/17?b=c failed', 'GET <url> failed'],
  ['conv_01JH8Z0000000000000000000A is gone', '<id> is gone'],
  ['Row 0b5c2d6e-8f0a-4b1c-9d2e-3f4a5b6c7d8e, commit 58fac5301', 'Row <id>, commit <id>'],
  ['Timeout after 1.5 s, 3 of 20', 'Timeout after <number> s, <number> of <number>'],
])('normalises "%s"', (message, normalized) => {
  expect(normalizedMessage(message)).toBe(normalized);
});

it('groups failures by code and normalised message', () => {
  const first = fingerprintOf('event_failed', {}, 'Order 17 not found');

  expect(fingerprintOf('event_failed', {}, 'Order 18 not found')).toBe(first);
  expect(fingerprintOf('event_failed', {}, 'Order 18 not paid')).not.toBe(first);
  expect(fingerprintOf('other', {}, 'Order 17 not found')).not.toBe(first);
});

it('groups failures by the grouped values instead, whatever their order', () => {
  const first = fingerprintOf('page_failed', { page: { raw: '1' }, site: { raw: 'a' } }, 'x');

  expect(fingerprintOf('page_failed', { site: { raw: 'a' }, page: { raw: '1' } }, 'y')).toBe(first);
  expect(fingerprintOf('page_failed', { page: { raw: '2' }, site: { raw: 'a' } }, 'x')).not.toBe(first);
});
