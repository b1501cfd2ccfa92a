import { Injectable } from '@nestjs/common';
import { maxRecordedRequests, recordedDays } from '@parley/contracts/runtime/webhook-recordings';
import { Database, type Sql } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { RecordedRequestEntity, type RequestSummaryRow, WebhookRecordingEntity } from './webhook-recording.entity';

export type NewRequest = Omit<RecordedRequestEntity, 'recording_id' | 'received_at'> & { received_at: string };

const isKept = `received_at > now() - make_interval(days => ${recordedDays})`;

@Injectable()
export class WebhookRecordingsRepository {
  constructor(private readonly database: Database) {}

  /** An existing recording of the webhook stays as it is. */
  async insertRecording(sql: Sql, { id, webhook_id, bot_id, key }: WebhookRecordingEntity): Promise<void> {
    await sql.query(
      `INSERT INTO webhook_recording (id, webhook_id, bot_id, key) VALUES ($1, $2, $3, $4)
       ON CONFLICT (webhook_id) DO NOTHING`,
      [id, webhook_id, bot_id, key],
    );
  }

  findOfWebhook(botId: string, webhookId: string): Promise<WebhookRecordingEntity | null> {
    return this.database.manager.findOneBy(WebhookRecordingEntity, { bot_id: botId, webhook_id: webhookId });
  }

  /** Index webhook_recording_webhook_id_key. */
  async findOfWebhooks(webhookIds: string[]): Promise<WebhookRecordingEntity[]> {
    return this.database.query<WebhookRecordingEntity>(
      'SELECT id, webhook_id, bot_id, key FROM webhook_recording WHERE webhook_id = ANY ($1::text[])',
      [webhookIds],
      'recordings_of_webhooks',
    );
  }

  /** Index webhook_recording_bot. */
  async listWebhookIdsOfBot(botId: string): Promise<string[]> {
    const rows = await this.database.manager.find(WebhookRecordingEntity, {
      select: { webhook_id: true },
      where: { bot_id: botId },
    });
    return rows.map((row) => row.webhook_id);
  }

  /** Deletes its requests too. */
  async deleteOfWebhook(botId: string, webhookId: string, sql: Sql = this.database): Promise<void> {
    await sql.manager.delete(WebhookRecordingEntity, { bot_id: botId, webhook_id: webhookId });
  }

  async deleteOfBot(botId: string): Promise<void> {
    await this.database.manager.delete(WebhookRecordingEntity, { bot_id: botId });
  }

  countOfBot(botId: string): Promise<number> {
    return this.database.manager.countBy(WebhookRecordingEntity, { bot_id: botId });
  }

  /**
   * Adds requests and deletes the oldest beyond the limit. Does nothing when the recording has ended meanwhile. The row
   * lock lets processes take turns.
   */
  async insertRequests(recordingId: string, requests: NewRequest[]): Promise<void> {
    await this.database.transaction(async (tx) => {
      const found = await tx.query('SELECT FROM webhook_recording WHERE id = $1 FOR NO KEY UPDATE', [recordingId]);
      if (found.length === 0) return;
      await tx.query(
        `INSERT INTO recorded_request (recording_id, id, received_at, method, status, body_bytes, head, body)
         SELECT $1, id, received_at, method, status, body_bytes, head, body
         FROM jsonb_populate_recordset(NULL::recorded_request, $2)`,
        [recordingId, JSON.stringify(requests)],
      );
      await tx.query(
        `DELETE FROM recorded_request WHERE recording_id = $1 AND id = ANY (ARRAY(
           SELECT id FROM recorded_request WHERE recording_id = $1 ORDER BY id DESC OFFSET ${maxRecordedRequests}))`,
        [recordingId],
      );
    });
  }

  /** Newest first. Primary key. */
  async listRequests(recordingId: string): Promise<RequestSummaryRow[]> {
    return this.database.query<RequestSummaryRow>(
      `SELECT id, received_at, method, status, body_bytes, head, body IS NOT NULL AS has_body FROM recorded_request
       WHERE recording_id = $1 AND ${isKept}
       ORDER BY id DESC LIMIT ${maxRecordedRequests}`,
      [recordingId],
    );
  }

  /** Primary key. */
  async findRequest(recordingId: string, id: string): Promise<RecordedRequestEntity | undefined> {
    const [row] = await this.database.query<RecordedRequestEntity>(
      `SELECT * FROM recorded_request WHERE recording_id = $1 AND id = $2 AND ${isKept}`,
      [recordingId, id],
    );
    return row;
  }

  /** Index recorded_request_received. */
  async deleteOld(): Promise<void> {
    await deleteOlder(this.database, 'recorded_request', 'received_at', recordedDays * 24);
  }
}
