import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import type { EntityClass } from '@parley/persistence/service-schema';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** Revisions of a bot's points. Locked by every write of the bot, so that its revisions are committed in order. */
@Entity('local_index_tenant')
export class LocalIndexTenantEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') removed_revision!: string;
}

/** Point of a passage and an embedding model. */
@Entity('local_index_point')
@Index('local_index_point_revision', ['bot_id', 'revision'])
@Index('local_index_point_file', ['bot_id', 'file_id'])
export class LocalIndexPointEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryColumn('uuid') id!: string;
  @PrimaryColumn('text') model!: string;
  @IdColumn() file_id!: string;
  @IdColumn() content_version!: string;

  /** Float32, little endian; so is `term_values`. */
  @Column('bytea') vector!: Buffer;

  /** Uint32, ascending, little endian. */
  @Column('bytea') term_indices!: Buffer;

  @Column('bytea') term_values!: Buffer;
  @Column('jsonb') tags!: Record<string, string>;

  /** `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;
}

/** Copy of the points of a bot and model at one revision, in the form that a search has in memory: see PointBlock. */
@Entity('local_index_block')
export class LocalIndexBlockEntity {
  /** Erasing a bot must not wait for a version that knows this table. */
  @PrimaryIdColumn() @ForeignKey(() => LocalIndexTenantEntity, { onDelete: 'CASCADE' }) bot_id!: string;
  @PrimaryColumn('text') model!: string;
  @PrimaryColumn('uuid') id!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;

  @Column('bytea') bytes!: Buffer;

  /** A byte for each row, 1 when its point is elsewhere or removed. */
  @Column('bytea', { nullable: true }) dead!: Buffer | null;
}

export const localIndexEntities: EntityClass[] = [LocalIndexTenantEntity, LocalIndexPointEntity, LocalIndexBlockEntity];
