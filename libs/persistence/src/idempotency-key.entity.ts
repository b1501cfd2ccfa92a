import { Column, Entity, Index } from 'typeorm';
import { IdColumn, PrimaryIdColumn } from './columns';

/** Stored answer of a request with an idempotency key. */
@Entity('idempotency_key')
@Index('idempotency_key_created', ['created_at'])
@Index('idempotency_key_of_bot', ['bot_id', 'scope', 'operation', 'key'], { where: 'bot_id IS NOT NULL' })
export class IdempotencyKeyEntity {
  @PrimaryIdColumn() scope!: string;
  @PrimaryIdColumn() operation!: string;
  @PrimaryIdColumn() key!: string;

  /** The answer is erased with this bot. */
  @IdColumn({ nullable: true }) bot_id!: string | null;

  @Column('bytea') body_hash!: Buffer;

  /** JSON as text, which keeps the order of its fields. */
  @Column('text', { nullable: true }) answer!: string | null;

  @Column('boolean', { default: false }) is_final!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) created_at!: Date;
}
