import type { BotCaller } from '@parley/contracts/access';
import type { User } from '@parley/contracts/chat/users';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';
import { shownNames } from '../queries/scope';

/** User of a bot, or the bot itself, whose user has the id of the bot. */
@Entity('user')
@Index('user_created', ['bot_id', 'created_at', 'id'])
@Index('user_updated', ['bot_id', 'updated_at', 'id'])
@Index('user_integration', ['bot_id', 'integration_alias', 'created_at', 'id'])
@Index('user_integration_updated', ['bot_id', 'integration_alias', 'updated_at', 'id'])
@Index('user_foreign_id', ['bot_id', 'foreign_id'], { unique: true, where: 'foreign_id IS NOT NULL' })
export class UserEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;

  /** Alias of the installation that the user belongs to; null for users created by the bot. */
  @IdColumn({ nullable: true }) integration_alias!: string | null;

  @Column('text', { nullable: true }) name!: string | null;
  @Column('text', { nullable: true }) picture_url!: string | null;

  /** As the bot sees them: tags of integrations have the form `alias:tag`. */
  @Column('jsonb') tags!: Record<string, string>;

  @Column('jsonb') properties!: Record<string, string>;

  /** Given by a client of the native chat; so is `profile`. */
  @IdColumn({ nullable: true }) foreign_id!: string | null;

  @Column('text', { nullable: true }) profile!: string | null;

  /** Derived from the id, so that both have the same order. */
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;

  @Column({ type: 'timestamptz', precision: 3 }) updated_at!: Date;
}

export function toUser(caller: Pick<BotCaller, 'integration'>, row: UserEntity): User {
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
