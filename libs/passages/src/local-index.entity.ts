import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import type { EntityClass } from '@parley/persistence/service-schema';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

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

export const localIndexEntities: EntityClass[] = [LocalIndexTenantEntity, LocalIndexPointEntity];
