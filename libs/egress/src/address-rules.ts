import ipaddr from 'ipaddr.js';
import { AddressRefused } from './egress-errors';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
const ipv4Compatible = ipaddr.IPv6.parseCIDR('::/96');

/** Metadata services of AWS, Alibaba Cloud, Azure, Google Cloud, Oracle Cloud and Scaleway that are not link-local. */
const metadataSubnets = {
  ipv4: ['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'].map((cidr) => ipaddr.IPv4.parseCIDR(cidr)),
  ipv6: ['fd00:ec2::/32', 'fd20:ce::/32', 'fd00:42::42/128'].map((cidr) => ipaddr.IPv6.parseCIDR(cidr)),
};

/**
 * Refuses link-local and metadata addresses always, and without `allowPrivate` all that are not public: private, loopback,
 * shared (RFC 6598), unique local, multicast, reserved, and IPv6 addresses that contain an IPv4 address.
 */
export function assertAllowedAddress(
  text: string,
  hostname: string,
  { allowPrivate }: { allowPrivate: boolean },
): void {
  const address = ipaddr.parse(text);
  const subject = text === hostname ? `Address ${text}` : `Address ${text} of "${hostname}"`;
  if ([address, ...embeddedAddresses(address)].some(isLinkLocalOrMetadata)) {
    throw new AddressRefused(
      `${subject} is refused: link-local and metadata addresses are never called. Use an address of a bot.`,
    );
  }
  if (!allowPrivate && !isPublic(address)) {
    throw new AddressRefused(
      `${subject} is refused: it is not public. Use a public address, or set EGRESS_ALLOW_PRIVATE=true.`,
    );
  }
}

function isLinkLocalOrMetadata(address: Address): boolean {
  if (address.range() === 'linkLocal') return true;
  return address instanceof ipaddr.IPv4
    ? metadataSubnets.ipv4.some((subnet) => address.match(subnet))
    : metadataSubnets.ipv6.some((subnet) => address.match(subnet));
}

function isPublic(address: Address): boolean {
  return address.range() === 'unicast' && (address instanceof ipaddr.IPv4 || address.match(globalUnicast));
}

/** IPv4 addresses that a translator, a tunnel or the kernel may reach for this IPv6 address. */
function embeddedAddresses(address: Address): ipaddr.IPv4[] {
  if (address instanceof ipaddr.IPv4) return [];
  const bytes = address.toByteArray();
  const range = address.range();
  if (range === '6to4') return [new ipaddr.IPv4(bytes.slice(2, 6))];
  if (range === 'teredo') return [new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff))];
  const isTranslated = range === 'ipv4Mapped' || range === 'rfc6052' || range === 'rfc6145';
  return isTranslated || address.match(ipv4Compatible) ? [new ipaddr.IPv4(bytes.slice(12))] : [];
}
