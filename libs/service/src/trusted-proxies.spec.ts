import type { IncomingMessage } from 'node:http';
import { TrustedProxies } from './trusted-proxies';

it.each([
  ['no proxy is trusted', '', '10.0.0.1', '1.2.3.4', '10.0.0.1'],
  ['no address was forwarded', '10.0.0.0/8', '1.2.3.4', undefined, '1.2.3.4'],
  ['the peer is not a trusted proxy', '10.0.0.0/8', '1.2.3.4', '5.6.7.8', '1.2.3.4'],
  ['a trusted proxy forwarded it', '10.0.0.0/8, 192.168.0.1', '10.1.1.1', '1.2.3.4', '1.2.3.4'],
  ['several trusted proxies forwarded it', '10.0.0.0/8,192.168.0.1', '10.1.1.1', '1.2.3.4, 192.168.0.1', '1.2.3.4'],
  ['the client forges an address', '10.0.0.0/8', '10.1.1.1', '9.9.9.9, 1.2.3.4', '1.2.3.4'],
  ['the address is IPv4 in IPv6', '10.0.0.0/8', '::ffff:10.1.1.1', '1.2.3.4', '1.2.3.4'],
  ['the proxy is in an IPv6 network', 'fd00::/8', 'fd00::1', '2001:db8::1', '2001:db8::1'],
  ['the forwarded value is not an address', '10.0.0.0/8', '10.1.1.1', 'unknown', 'unknown'],
  ['all addresses are trusted proxies', '10.0.0.0/8', '10.1.1.1', '10.2.2.2', '10.2.2.2'],
])('returns the client address when %s', (_when, trusted, remoteAddress, forwarded, sender) => {
  const request = {
    socket: { remoteAddress },
    headers: { 'x-forwarded-for': forwarded },
  } as unknown as IncomingMessage;

  expect(new TrustedProxies(trusted).senderOf(request)).toBe(sender);
});
