import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Client address of a request, from `x-forwarded-for` as far as trusted proxies have set it. */
export class TrustedProxies {
  private readonly list = new BlockList();

  /** @param list addresses and networks, separated by commas */
  constructor(list = '') {
    for (const entry of list.split(',').filter(Boolean)) {
      const [address, bits] = entry.trim().split('/') as [string, string?];
      if (bits === undefined) this.list.addAddress(address, familyOf(address));
      else this.list.addSubnet(address, Number(bits), familyOf(address));
    }
  }

  /** Nearest address that is not a trusted proxy; the farthest when all are. */
  senderOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    const forwarded = headers['x-forwarded-for'];
    const way = [forwarded ?? [], socket.remoteAddress ?? ''].flat().flatMap((hop) => hop.split(','));
    const hops = way.map((hop) => hop.trim()).reverse();
    return hops.find((hop) => !this.isTrusted(hop)) ?? hops.at(-1)!;
  }

  isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.list.check(address, familyOf(address));
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
