import type { BotCaller } from '@parley/contracts/access';
import type { State, StateType } from '@parley/contracts/chat/states';
import { shownName } from '../runtime/scope';

export interface StateRow {
  bot_id: string;
  type: StateType;
  /** For a state of an integration the alias of the installation, since the integration id changes with the version. */
  owner_id: string;
  /** As the bot sees it: names of integrations have the form `alias:name`. */
  name: string;
  id: string;
  payload: Record<string, unknown>;
  /** Sliding expiry: milliseconds after the last access. */
  expiry_ms: number | null;
  expires_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export function toState(caller: Pick<BotCaller, 'integration'>, row: StateRow): State {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    botId: row.bot_id,
    conversationId: row.type === 'conversation' ? row.owner_id : undefined,
    userId: row.type === 'user' ? row.owner_id : undefined,
    name: nameOf(caller, row),
    type: row.type,
    payload: row.payload,
    expiry: row.expiry_ms ?? undefined,
    expiresAt: row.expires_at?.toISOString(),
  };
}

/** A state of an integration has its name without alias for every caller: the path names the integration. */
function nameOf(caller: Pick<BotCaller, 'integration'>, { type, owner_id: owner, name }: StateRow): string {
  return type === 'integration' ? name.slice(owner.length + 1) : (shownName(caller, name) ?? name);
}
