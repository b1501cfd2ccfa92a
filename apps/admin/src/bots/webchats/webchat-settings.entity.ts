import type { WebchatSettings } from '@parley/contracts/admin/webchats';
import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey } from 'typeorm';
import { BotEntity } from '../bots/bot.entity';

/** Settings of the web chat of a bot. A bot without a row has the defaults. */
@Entity('webchat_settings')
export class WebchatSettingsEntity {
  @PrimaryIdColumn() @ForeignKey(() => BotEntity, { onDelete: 'CASCADE' }) bot_id!: string;
  @Column('jsonb') settings!: WebchatSettings;
}
