import type { BotCaller } from '@parley/contracts/access';
import type { State, StateType } from '@parley/contracts/chat/states';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index } from 'typeorm';
import { shownName } from '../queries/scope';

/** State of a bot, a user, a conversation, a workflow or an installation. */
@Entity('state')
@Check('state_type_check', `type IN ('conversation', 'user', 'bot', 'integration', 'workflow')`)
@Index('state_expires', ['expires_at'], { where: 'expires_at IS NOT NULL' })
export class StateEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() type!: StateType;

  /** For a state of an integration the alias of the installation, since the integration id changes with the version. */
  @PrimaryIdColumn() owner_id!: string;

  /** As the bot sees it: names of integrations have the form `alias:name`. */
  @PrimaryIdColumn() name!: string;

  @IdColumn() id!: string;
  @Column('jsonb') payload!: Record<string, unknown>;

  /** Sliding expiry: milliseconds after the last access. `bigint`, which arrives as text. */
  @Column('bigint', { nullable: true }) expiry_ms!: string | null;

  @Column({ type: 'timestamptz', precision: 3, nullable: true }) expires_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3 }) updated_at!: Date;
}

export function toState(caller: Pick<BotCaller, 'integration'>, row: StateEntity): State {
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
    expiry: row.expiry_ms === null ? undefined : Number(row.expiry_ms),
    expiresAt: row.expires_at?.toISOString(),
  };
}

/** A state of an integration has its name without alias for every caller: the path names the integration. */
function nameOf(caller: Pick<BotCaller, 'integration'>, { type, owner_id: owner, name }: StateEntity): string {
  return type === 'integration' ? name.slice(owner.length + 1) : (shownName(caller, name) ?? name);
}
