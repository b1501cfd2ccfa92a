import type { Issue, IssueCategory, IssueEvent, IssueValue } from '@parley/contracts/runtime/issues';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Failures of the same kind of one bot. */
@Entity('issue')
@Index('issue_fingerprint', ['bot_id', 'fingerprint'], { unique: true })
@Index('issue_of_bot', ['bot_id', 'last_seen_at', 'id'])
@Index('issue_seen', ['last_seen_at'])
export class IssueEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;
  @IdColumn() fingerprint!: string;
  @Column('text') code!: string;
  @Column('text') category!: IssueCategory;
  @Column('text') title!: string;
  @Column('text') description!: string;
  @Column('jsonb') grouped_data!: Record<string, IssueValue>;
  @Column('integer') events_count!: number;

  /** Latest events, newest first. */
  @Column('jsonb') events!: IssueEvent[];

  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3 }) last_seen_at!: Date;
}

export type IssueRow = Omit<IssueEntity, 'fingerprint' | 'events'>;

export function toIssue(row: IssueRow): Issue {
  return {
    id: row.id,
    code: row.code,
    createdAt: row.created_at.toISOString(),
    lastSeenAt: row.last_seen_at.toISOString(),
    title: row.title,
    description: row.description,
    groupedData: row.grouped_data,
    eventsCount: row.events_count,
    category: row.category,
    resolutionLink: null,
  };
}
