import { PrimaryIdColumn } from '@parley/persistence/columns';
import type { ProviderSettings } from '@parley/contracts/models/providers';
import { Column, Entity } from 'typeorm';

/** Provider that an operator has set. */
@Entity('provider')
export class ProviderEntity {
  /** Its name. */
  @PrimaryIdColumn() id!: string;

  /** In the order of fallback. */
  @Column('integer') position!: number;

  /** Encrypted; null without a key. */
  @Column({ type: 'text', nullable: true }) sealed_key!: string | null;

  @Column('jsonb') settings!: ProviderSettings;
}

/** Observations of all processes about a provider, also about one of the configuration. */
@Entity('provider_state')
export class ProviderStateEntity {
  /** Name of the provider. */
  @PrimaryIdColumn() id!: string;

  /** Time of an observation; null before the first one. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) seen_at!: Date | null;

  /** Time of the first failure after the last answer. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) failing_since!: Date | null;

  @Column({ type: 'text', nullable: true }) last_error!: string | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) last_error_at!: Date | null;

  /** Names that the server listed last. */
  @Column({ type: 'jsonb', nullable: true }) models!: string[] | null;

  /** Token bucket of `rate`: time at which it is full again. */
  @Column({ type: 'timestamptz', default: '-infinity' }) next_call_at!: Date;
}
