import type { PassageSubtype, PassageType } from '@parley/contracts/passages';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Passage of a content version. */
@Entity('passage')
@Index('passage_bot', ['bot_id'])
@Index('passage_id', ['id'])
export class PassageEntity {
  @PrimaryIdColumn() file_id!: string;
  @PrimaryIdColumn() content_version!: string;
  @PrimaryColumn('integer') position!: number;

  /** Id by which the passage index refers to the passage. */
  @Column('uuid') id!: string;

  @IdColumn() bot_id!: string;
  @Column('text') content!: string;
  @Column('text') subtype!: PassageSubtype;
  @Column('integer', { nullable: true }) page_number!: number | null;
  @Column('text', { array: true }) breadcrumb!: string[];
  @Column('text', { default: 'chunk' }) type!: PassageType;

  /** Whether text was read by OCR. */
  @Column('boolean', { default: false }) is_recognised!: boolean;
}
