import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { FileEntity } from './file.entity';

/** Embedding model of which the passage index has points. */
@Entity('index_model')
@Index('index_model_active', ['is_active'], { unique: true, where: 'is_active' })
export class IndexModelEntity {
  @PrimaryColumn('text') model!: string;

  /** Length of its vectors; null until the first point is written. */
  @Column('integer', { nullable: true }) dimensions!: number | null;

  /** Whether searches use this model. */
  @Column('boolean', { default: false }) is_active!: boolean;

  /** Cursor of the re-index: the last file that it has processed. */
  @IdColumn({ default: '' }) place!: string;
}

/** Content version with points of a model. A model lacks each active version without a complete row. */
@Entity('indexed_content')
@Index('indexed_content_lexicon', ['model', 'lexicon', 'file_id'])
export class IndexedContentEntity {
  @PrimaryIdColumn() @ForeignKey(() => FileEntity, { onDelete: 'CASCADE' }) file_id!: string;
  @PrimaryColumn('text') model!: string;
  @IdColumn() content_version!: string;

  /** Position at which the re-index continues; null when all passages have their points. */
  @Column('integer', { nullable: true }) next_position!: number | null;

  /** Version of the lexicon that the words of its points are from, the oldest if they differ. */
  @Column('integer', { default: 1 }) lexicon!: number;
}
