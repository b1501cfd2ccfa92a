import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index } from 'typeorm';
import type { TagKind } from './tags.repository';

/**
 * Inverted index of the tags columns: one row per tag and object. The table has no primary key: TypeORM requires the
 * declared one.
 */
@Entity('tag')
@Check('tag_kind_check', `kind IN ('user', 'conversation', 'message', 'workflow')`)
// Expressions tag_key(name) and tag_key(value).
@Index('tag_place', { synchronize: false })
@Index('tag_of_conversation', { synchronize: false })
export class TagEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() kind!: TagKind;
  @PrimaryIdColumn() name!: string;
  @IdColumn() value!: string;

  /** Creation time of the object, which never changes. */
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;

  @PrimaryIdColumn() object_id!: string;

  /** Conversation of a message, which never changes; null for other kinds of objects. */
  @IdColumn({ nullable: true }) conversation_id!: string | null;
}
