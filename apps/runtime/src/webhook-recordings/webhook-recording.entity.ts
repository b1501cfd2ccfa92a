import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Installation whose requests are recorded. */
@Entity('webhook_recording')
@Index('webhook_recording_bot', ['bot_id'])
export class WebhookRecordingEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn({ unique: true }) webhook_id!: string;
  @IdColumn() bot_id!: string;

  /** Encrypts the requests. Encrypted itself, so that a rotation of the secret key rewrites no request. */
  @Column('text') key!: string;
}
