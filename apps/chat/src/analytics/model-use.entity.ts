import type { ModelUseCounted } from '@parley/contracts/models/use';
import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type ModelFigures = Omit<ModelUseCounted, 'botId' | 'hour'>;

/** Calls of language models of a bot in one hour. */
@Entity('model_use')
@Index('model_use_hour', ['hour'])
export class ModelUseEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** Start of the hour. */
  @PrimaryColumn({ type: 'timestamptz', precision: 3 }) hour!: Date;

  /** Number of calls, which only grows: tells which figures are newer. */
  @Column('integer') calls!: number;

  @Column('jsonb') figures!: ModelFigures;
}
