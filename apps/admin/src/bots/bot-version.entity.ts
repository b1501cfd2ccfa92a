import type { BotVersion } from '@parley/contracts/admin/bot-versions';

export interface BotVersionRow {
  id: string;
  name: string;
  description: string | null;
}

export function toBotVersion({ id, name, description }: BotVersionRow): BotVersion {
  return { id, name, description: description ?? undefined };
}
