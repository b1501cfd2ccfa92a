import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Upload or copy that is under way. */
@Entity('upload')
@Index('upload_file', ['file_id'])
export class UploadEntity {
  @PrimaryIdColumn() content_version!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() file_id!: string;

  /** Heartbeat, which keeps the blob from being removed as garbage. */
  @Column('timestamptz', { default: () => 'now()' }) touched_at!: Date;
}
