import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { BotEntity } from './bot.entity';

/** Former signing secret of a bot that is still valid. */
@Entity('bot_former_signing_secret')
export class FormerSigningSecretEntity {
  @PrimaryIdColumn() @ForeignKey(() => BotEntity, { onDelete: 'CASCADE' }) bot_id!: string;

  /** Encrypted. */
  @PrimaryColumn('text') secret!: string;

  @PrimaryColumn({ type: 'timestamptz', precision: 3 }) valid_until!: Date;
}
