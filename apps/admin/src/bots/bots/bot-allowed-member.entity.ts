import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Entity, ForeignKey, Index } from 'typeorm';
import { BotEntity } from './bot.entity';

/** Allowlist entry: member who may see a bot for selected users. Deleted when the member leaves the workspace. */
@Entity('bot_allowed_member')
@ForeignKey('MemberEntity', ['workspace_id', 'account_id'], ['workspace_id', 'account_id'], { onDelete: 'CASCADE' })
@Index('bot_allowed_member_member', ['workspace_id', 'account_id'])
export class BotAllowedMemberEntity {
  @PrimaryIdColumn() @ForeignKey(() => BotEntity, { onDelete: 'CASCADE' }) bot_id!: string;
  @IdColumn() workspace_id!: string;
  @PrimaryIdColumn() account_id!: string;
}
