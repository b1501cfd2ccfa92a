import type { BotCaller } from '@parley/contracts/access';
import type { User } from '@parley/contracts/chat/users';
import { shownNames } from '../runtime/scope';

export interface UserRow {
  bot_id: string;
  id: string;
  /** Alias of the installation that the user belongs to; null for users created by the bot. */
  integration_alias: string | null;
  name: string | null;
  picture_url: string | null;
  tags: Record<string, string>;
  properties: Record<string, string>;
  foreign_id: string | null;
  profile: string | null;
  created_at: Date;
  updated_at: Date;
}

export function toUser(caller: Pick<BotCaller, 'integration'>, row: UserRow): User {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    tags: shownNames(caller, row.tags),
    name: row.name ?? undefined,
    pictureUrl: row.picture_url ?? undefined,
    properties: row.properties,
    attributes: row.properties,
  };
}
