import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/**
 * Installation that was removed or disabled, until its integration has been notified. The bot may be deleted already: no
 * foreign key.
 */
@Entity('former_installation')
@Index('former_installation_bot', ['bot_id'])
@Index('former_installation_created', ['created_at'])
export class FormerInstallationEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() workspace_id!: string;
  @IdColumn() alias!: string;
  @IdColumn() integration_id!: string;
  @IdColumn() webhook_id!: string;
  @Column('text', { nullable: true }) configuration_type!: string | null;

  /** Encrypted JSON; null when there is no configuration. */
  @Column('text', { nullable: true }) configuration!: string | null;

  /** Registration revision of the installation. */
  @Column('integer') revision!: number;

  @TimestampColumn() created_at!: Date;
}
