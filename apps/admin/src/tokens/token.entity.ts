import type { TokenEntry } from '@parley/contracts/admin/tokens';

export interface TokenRow {
  id: string;
  note: string;
  created_at: Date;
}

export function toTokenEntry({ id, note, created_at }: TokenRow): TokenEntry {
  return { id, note, createdAt: created_at.toISOString() };
}
