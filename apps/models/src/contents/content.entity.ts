import { PrimaryIdColumn, IdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** A bot whose prompts and answers are kept. */
@Entity('content_setting')
export class ContentSettingEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** Contents of before are not shown: they belong to a setting that was ended. */
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) kept_since!: Date;
}

/** Prompt and answer of a call, encrypted with the secret key. */
@Entity('call_content')
@Index('call_content_of_bot', ['bot_id'])
@Index('call_content_created', ['created_at'])
export class CallContentEntity {
  @PrimaryIdColumn() call_id!: string;
  @IdColumn() bot_id!: string;
  @Column('text') sealed!: string;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
}
