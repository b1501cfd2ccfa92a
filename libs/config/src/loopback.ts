import { BlockList, isIP, isIPv6 } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only clients of this machine can reach the address. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host === 'localhost';
  return loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');
}

/** Whether only clients of this machine can reach a process: on a loopback address, without a proxy in front of it. */
export function isLocalOnly({ host, trustedProxies }: { host: string; trustedProxies?: string }): boolean {
  return trustedProxies === undefined && isLoopback(host);
}
