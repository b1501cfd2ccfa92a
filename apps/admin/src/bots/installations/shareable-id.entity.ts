import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey } from 'typeorm';
import { InstallationEntity } from './installation.entity';

/** Shareable id of an installation, which has at most one. */
@Entity('shareable_id')
@ForeignKey(() => InstallationEntity, ['bot_id', 'alias'], ['bot_id', 'alias'], { onDelete: 'CASCADE' })
export class ShareableIdEntity {
  @IdColumn({ unique: true }) id!: string;
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() alias!: string;
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
}
