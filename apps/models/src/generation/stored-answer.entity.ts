import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Answer kept for an equal request (cache), or for a repeated one (idempotency key). */
@Entity('stored_answer')
@Index('stored_answer_expires', ['expires_at'])
export class StoredAnswerEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() key!: string;

  /** Null while the request that it belongs to is under way. */
  @Column({ type: 'jsonb', nullable: true }) answer!: object | null;
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
}
