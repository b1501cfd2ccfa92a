import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** Report of a bot's installations, which admin owns and announces by event. */
@Entity('installation_report')
export class InstallationReportEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** `bigint`, which arrives as text. The greatest revision of each bot counts. */
  @Column('bigint') revision!: string;
}

/** Installation of an integration or a plugin in a bot, as last reported. */
@Entity('installation')
@Check('installation_kind_check', "kind IN ('integration', 'plugin')")
@Index('installation_entry', ['entry_id'])
export class InstallationEntity {
  @PrimaryIdColumn() @ForeignKey(() => InstallationReportEntity) bot_id!: string;
  @PrimaryColumn('text') kind!: 'integration' | 'plugin';
  @PrimaryIdColumn() alias!: string;

  /** Version id of the integration or plugin. */
  @IdColumn() entry_id!: string;
}
