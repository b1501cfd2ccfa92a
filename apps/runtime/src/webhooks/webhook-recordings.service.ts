import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { administrativeChange, auditEntryOf } from '@parley/contracts/admin/audit';
import { botVisibility } from '@parley/contracts/admin/bot-visibility';
import type { InstalledAlias } from '@parley/contracts/admin/registrations';
import { targets } from '@parley/contracts/admin/targets';
import type { Caller } from '@parley/contracts/caller';
import { ifFound, notFound } from '@parley/contracts/errors';
import type {
  RecordedRequest,
  RecordedRequestId,
  RecordedRequestReply,
  RecordedRequests,
  SetWebhookRecording,
  WebhookRecording,
} from '@parley/contracts/runtime/webhook-recordings';
import { runtime } from '@parley/contracts/runtime/runtime';
import { Outbox } from '@parley/events/outbox';
import { Database, type Sql } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { SecretBox } from '@parley/secrets/secret-box';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every } from '@parley/work-queue/worker';
import { openHead, toSummary } from './webhook-recording.entity';
import { boxOf, newRecordingKey } from './recording-key';
import { WebhookRecordingsRepository } from './webhook-recordings.repository';

const cleanMs = 60 * 60_000;

/** Requests to webhooks that are kept for replay, if a member or the operator wishes it. */
@Injectable()
export class WebhookRecordingsService {
  constructor(
    private readonly database: Database,
    private readonly client: ParleyClient,
    private readonly outbox: Outbox,
    private readonly recordings: WebhookRecordingsRepository,
    private readonly box: SecretBox,
  ) {}

  async set(caller: WorkspaceCaller, input: SetWebhookRecording): Promise<WebhookRecording> {
    await this.requireBot(caller, input);
    const { botId, alias, enabled } = input;
    const webhookId = await this.webhookIdOf(caller, input);
    await this.database.transaction(async (tx) => {
      await this.store(tx, input, webhookId);
      const operation = runtime.webhookRecordings.set;
      const change = { operation, id: botId, name: alias, value: JSON.stringify({ enabled }) };
      await this.outbox.add(tx, administrativeChange, auditEntryOf(caller, change));
    });
    return { enabled };
  }

  async setOfAnyBot(caller: Caller, input: SetWebhookRecording): Promise<WebhookRecording> {
    await this.store(this.database, input, await this.webhookIdOf(caller, input));
    return { enabled: input.enabled };
  }

  async list(caller: WorkspaceCaller, input: InstalledAlias): Promise<RecordedRequests> {
    await this.requireBot(caller, input);
    return this.listOfAnyBot(caller, input);
  }

  async listOfAnyBot(caller: Caller, input: InstalledAlias): Promise<RecordedRequests> {
    const recording = await this.recordings.findOfWebhook(input.botId, await this.webhookIdOf(caller, input));
    if (!recording) return { enabled: false, requests: [] };
    const box = boxOf(this.box, recording.key);
    const rows = await this.recordings.listRequests(recording.id);
    return { enabled: true, requests: rows.map((row) => toSummary(row, openHead(box, row))) };
  }

  async get(caller: WorkspaceCaller, input: RecordedRequestId): Promise<RecordedRequestReply> {
    await this.requireBot(caller, input);
    return this.getOfAnyBot(caller, input);
  }

  async getOfAnyBot(caller: Caller, input: RecordedRequestId): Promise<RecordedRequestReply> {
    return { request: await this.getRequest(input, await this.webhookIdOf(caller, input)) };
  }

  private async store(sql: Sql, { botId, enabled }: SetWebhookRecording, webhookId: string): Promise<void> {
    if (!enabled) return this.recordings.deleteOfWebhook(botId, webhookId, sql);
    const key = newRecordingKey(this.box);
    await this.recordings.insertRecording(sql, { id: newId('recording'), webhook_id: webhookId, bot_id: botId, key });
  }

  /** Throws ResourceNotFound unless the request of this webhook is kept. */
  async getRequest({ botId, requestId }: RecordedRequestId, webhookId: string): Promise<RecordedRequest> {
    const recording = await this.recordings.findOfWebhook(botId, webhookId);
    const row = recording && (await this.recordings.findRequest(recording.id, requestId));
    if (!row) throw notFound('recorded request', requestId);
    const box = boxOf(this.box, recording.key);
    const head = openHead(box, row);
    const { headers, maskedHeaders } = head;
    return {
      ...toSummary({ ...row, has_body: row.body !== null }, head),
      ...{ headers, maskedHeaders },
      ...(row.body === null ? {} : { body: box.open(row.body) }),
    };
  }

  /** Erases what was recorded of installations that the bot does not have any more. Idempotent, in any order. */
  async eraseUninstalled(caller: Caller, botId: string): Promise<void> {
    for (const webhookId of await this.recordings.listWebhookIdsOfBot(botId)) {
      const installation = await ifFound(this.client.call(targets.findInstallation, caller, { webhookId }));
      if (!installation) await this.recordings.deleteOfWebhook(botId, webhookId);
    }
  }

  /** Retention. Safe to run in several processes. */
  @Every({ name: 'runtime.recordingRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.recordings.deleteOld();
  }

  async requireBot(caller: WorkspaceCaller, { botId }: InstalledAlias): Promise<void> {
    await this.client.call(botVisibility.require, caller, { botId });
  }

  /** Throws ResourceNotFound for an unknown installation, and for the chat, which has no webhook. */
  private async webhookIdOf(caller: Caller, { botId, alias }: InstalledAlias): Promise<string> {
    const { webhookId, isChat } = await this.client.call(targets.getInstallation, caller, { botId, alias });
    if (isChat) throw notFound('webhook of the installation', alias);
    return webhookId;
  }
}
