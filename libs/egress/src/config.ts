import { choice, type VariableOptions } from '@parley/config/config';
import { isLocalOnly } from '@parley/config/loopback';

export const egressAllowPrivateVariable: VariableOptions<'true' | 'false'> = {
  env: 'EGRESS_ALLOW_PRIVATE',
  type: choice<'true' | 'false'>('true', 'false'),
  about:
    'Whether the platform may call bots, and fetch pictures for models, at private and loopback addresses. Metadata addresses of clouds are always refused.',
  optional: true,
  defaultText: '`true` when `HOST` is a loopback address and `TRUSTED_PROXIES` is not set',
};

type EgressSettings = Parameters<typeof isLocalOnly>[0] & { egressAllowPrivate?: 'true' | 'false' };

/** Others who reach the platform must not reach the private network of its host through it. */
export function allowsPrivate(config: EgressSettings): boolean {
  const { egressAllowPrivate } = config;
  return egressAllowPrivate === undefined ? isLocalOnly(config) : egressAllowPrivate === 'true';
}
