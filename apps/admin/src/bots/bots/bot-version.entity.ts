import type { BotVersion } from '@parley/contracts/admin/bot-versions';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { BotEntity } from './bot.entity';

/** Code of a bot, one row for each content. In a table of its own, since it may be large. */
@Entity('bot_code')
export class BotCodeEntity {
  @PrimaryIdColumn() @ForeignKey(() => BotEntity, { onDelete: 'CASCADE' }) bot_id!: string;

  /** SHA-256, in hex. */
  @PrimaryIdColumn() hash!: string;

  @Column('text') code!: string;
}

/** Version of a bot's code. */
@Entity('bot_version')
@ForeignKey(() => BotCodeEntity, ['bot_id', 'code_hash'], ['bot_id', 'hash'], { onDelete: 'CASCADE' })
@Index('bot_version_position', ['bot_id', 'position'], { unique: true })
export class BotVersionEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() code_hash!: string;

  /** `bigint`, which arrives as text. Increases with each version of a bot; versions are created one at a time. */
  @Column({ type: 'bigint', generated: 'increment', generatedIdentity: 'ALWAYS' }) position!: string;

  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
}

export type BotVersionRow = Pick<BotVersionEntity, 'id' | 'name' | 'description'>;

export function toBotVersion({ id, name, description }: BotVersionRow): BotVersion {
  return { id, name, description: description ?? undefined };
}
