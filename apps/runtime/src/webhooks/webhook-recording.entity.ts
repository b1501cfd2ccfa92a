import type { RecordedRequest, RecordedRequestSummary } from '@parley/contracts/runtime/webhook-recordings';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import type { SecretBox } from '@parley/secrets/secret-box';
import { Column, Entity, ForeignKey, Index } from 'typeorm';

/** Installation whose requests are recorded. */
@Entity('webhook_recording')
@Index('webhook_recording_bot', ['bot_id'])
export class WebhookRecordingEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn({ unique: true }) webhook_id!: string;
  @IdColumn() bot_id!: string;

  /** Encrypts the requests. Encrypted itself, so that a rotation of the secret key rewrites no request. */
  @Column('text') key!: string;
}

/** Request to a webhook. Path, query, headers and body are encrypted by the key of the recording. */
@Entity('recorded_request')
@Index('recorded_request_received', ['received_at'])
export class RecordedRequestEntity {
  @PrimaryIdColumn() @ForeignKey(() => WebhookRecordingEntity, { onDelete: 'CASCADE' }) recording_id!: string;
  @PrimaryIdColumn() id!: string;
  @Column({ type: 'timestamptz', precision: 3 }) received_at!: Date;
  @Column('text') method!: string;
  @Column('integer') status!: number;
  @Column('integer') body_bytes!: number;

  /** Encrypted JSON of RequestHead. */
  @Column('text') head!: string;

  /** Null without a body, and for one that was too large. */
  @Column('text', { nullable: true }) body!: string | null;
}

export type RequestHead = Pick<RecordedRequest, 'path' | 'query' | 'headers' | 'maskedHeaders'>;

export type RequestSummaryRow = Omit<RecordedRequestEntity, 'recording_id' | 'body'> & { has_body: boolean };

export function openHead(box: SecretBox, { head }: Pick<RecordedRequestEntity, 'head'>): RequestHead {
  return JSON.parse(box.open(head)) as RequestHead;
}

export function toSummary(row: RequestSummaryRow, { path, query }: RequestHead): RecordedRequestSummary {
  return {
    ...{ id: row.id, receivedAt: row.received_at.toISOString(), method: row.method, path, query, status: row.status },
    ...{ bodyBytes: row.body_bytes, isComplete: row.has_body || row.body_bytes === 0 },
  };
}
