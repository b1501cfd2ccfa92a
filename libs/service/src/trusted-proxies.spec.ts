import type { IncomingMessage } from 'node:http';
import { TrustedProxies } from './trusted-proxies';

it.each([
  ['nobody is trusted', '', '10.0.0.1', '1.2.3.4', '10.0.0.1'],
  ['nobody has passed it on', '10.0.0.0/8', '1.2.3.4', undefined, '1.2.3.4'],
  ['who passed it on is not trusted', '10.0.0.0/8', '1.2.3.4', '5.6.7.8', '1.2.3.4'],
  ['a trusted proxy passed it on', '10.0.0.0/8, 192.168.0.1', '10.1.1.1', '1.2.3.4', '1.2.3.4'],
  ['several did', '10.0.0.0/8,192.168.0.1', '10.1.1.1', '1.2.3.4, 192.168.0.1', '1.2.3.4'],
  ['the sender invents another one', '10.0.0.0/8', '10.1.1.1', '9.9.9.9, 1.2.3.4', '1.2.3.4'],
  ['the address is IPv4 in IPv6', '10.0.0.0/8', '::ffff:10.1.1.1', '1.2.3.4', '1.2.3.4'],
  ['the proxy is in an IPv6 network', 'fd00::/8', 'fd00::1', '2001:db8::1', '2001:db8::1'],
  ['what was passed on is no address', '10.0.0.0/8', '10.1.1.1', 'unknown', 'unknown'],
  ['all are proxies', '10.0.0.0/8', '10.1.1.1', '10.2.2.2', '10.2.2.2'],
])('the sender is told when %s', (_when, trusted, remoteAddress, forwarded, sender) => {
  const request = {
    socket: { remoteAddress },
    headers: { 'x-forwarded-for': forwarded },
  } as unknown as IncomingMessage;

  expect(new TrustedProxies(trusted).senderOf(request)).toBe(sender);
});
