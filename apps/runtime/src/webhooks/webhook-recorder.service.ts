import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import { writeLastBatches } from '@parley/background/write-last-batches';
import { maxRecordedBodyBytes, maxRecordedRequests } from '@parley/contracts/runtime/webhook-recordings';
import type { WebhookRequest } from '@parley/contracts/runtime/webhooks';
import { SecretBox } from '@parley/secrets/secret-box';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { contentBytes } from '@parley/service/webhook-body';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { Every } from '@parley/work-queue/worker';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { boxOf } from './recording-key';
import type { RequestHead, WebhookRecordingEntity } from './webhook-recording.entity';
import { type NewRequest, WebhookRecordingsRepository } from './webhook-recordings.repository';

const writeTask = 'runtime.webhookRecordings';
/** Requests within this time share a transaction. */
const collectMs = 200;
const idleMs = 5_000;
/** A webhook that is not recorded is looked up again after this time. */
const unrecordedMs = 1_000;
/** Memory: requests and the bytes of their bodies that wait in one process. */
const maxWaiting = 200;
const maxWaitingBytes = 8_000_000;
/** Names of headers that hold secrets, such as `authorization`, `cookie` and `x-api-key`. Signatures are no secrets. */
const secretHeader = /authorization|cookie|token|secret|password|credential|api-?key/;

export interface AnsweredRequest {
  id: string;
  webhookId: string;
  receivedAt: Date;
  request: WebhookRequest;
  status: number;
}

interface WaitingRequest extends AnsweredRequest {
  bodyBytes: number;
  /** Absent if it is too large. */
  body?: string;
}

/**
 * Records requests after their answer, together. Recording never waits: beyond the limits requests are dropped, and
 * counted in `parley_webhook_recordings_dropped_total`.
 */
@Injectable()
export class WebhookRecorderService implements BeforeApplicationShutdown {
  private waiting: WaitingRequest[] = [];
  private waitingBytes = 0;
  /** Requests by webhook that found no room. */
  private missed = new KeyCounts();
  private readonly unrecorded = new LRUCache<string, true>({ ...atMostEntries(10_000), ttl: unrecordedMs });
  private readonly countDropped: (by?: number) => void;

  constructor(
    private readonly recordings: WebhookRecordingsRepository,
    private readonly box: SecretBox,
    private readonly background: BackgroundTasks,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.countDropped = platform.metrics.counter(
      'parley_webhook_recordings_dropped_total',
      'Requests to recorded webhooks that were not kept, because too many waited or the database refused them.',
    );
  }

  /** Does nothing unless the webhook is recorded. Knows of a change within a second. */
  record(answered: AnsweredRequest): void {
    const { webhookId, request } = answered;
    if (this.unrecorded.has(webhookId)) return;
    const bodyBytes = contentBytes(request);
    const body = bodyBytes > maxRecordedBodyBytes ? undefined : request.body;
    const keptBytes = body === undefined ? 0 : bodyBytes;
    if (this.waiting.length < maxWaiting && this.waitingBytes + keptBytes <= maxWaitingBytes) {
      this.waiting.push({ ...answered, request: { ...request, body: undefined }, bodyBytes, body });
      this.waitingBytes += keptBytes;
    } else this.missed.add(webhookId, 1);
    this.background.wake(writeTask, collectMs);
  }

  @Every({ name: writeTask, everyMs: idleMs })
  async write(): Promise<boolean> {
    const { waiting, missed } = this;
    if (waiting.length === 0 && missed.size === 0) return false;
    [this.waiting, this.waitingBytes, this.missed] = [[], 0, new KeyCounts()];
    const webhookIds = [...new Set([...waiting.map(({ webhookId }) => webhookId), ...missed.keys()])];
    const found = await this.recordings.findOfWebhooks(webhookIds).catch((error: unknown) => {
      this.countDropped(waiting.length);
      throw error;
    });
    const recordings = new Map(found.map((recording) => [recording.webhook_id, recording]));
    for (const webhookId of webhookIds) {
      const recording = recordings.get(webhookId);
      if (!recording) this.unrecorded.set(webhookId, true);
      else if (missed.has(webhookId)) this.countDropped(missed.count(webhookId));
    }
    await this.store(waiting, recordings);
    return this.waiting.length > 0;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await writeLastBatches(() => this.write(), this.platform.logger);
  }

  /** One recording after the other, so that the others keep the connections. Throws the first failure at the end. */
  private async store(waiting: WaitingRequest[], recordings: Map<string, WebhookRecordingEntity>): Promise<void> {
    const failures: unknown[] = [];
    for (const [webhookId, { id, key }] of recordings) {
      const latest = waiting.filter((request) => request.webhookId === webhookId).slice(-maxRecordedRequests);
      if (latest.length === 0) continue;
      try {
        const box = boxOf(this.box, key);
        await this.recordings.insertRequests(
          id,
          latest.map((request) => toRow(box, request)),
        );
      } catch (error) {
        this.countDropped(latest.length);
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

function toRow(box: SecretBox, { id, receivedAt, request, status, bodyBytes, body }: WaitingRequest): NewRequest {
  const { method, path, query, headers } = request;
  const head: RequestHead = { path, query, ...maskHeaders(headers) };
  return {
    ...{ id, received_at: receivedAt.toISOString(), method, status, body_bytes: bodyBytes },
    head: box.seal(JSON.stringify(head)),
    body: body === undefined ? null : box.seal(body),
  };
}

/** Headers without those that hold secrets, and the names of these. */
function maskHeaders(headers: Record<string, string>) {
  const isSecret = (name: string) => secretHeader.test(name.toLowerCase());
  const kept = Object.entries(headers).filter(([name]) => !isSecret(name));
  return { headers: Object.fromEntries(kept), maskedHeaders: Object.keys(headers).filter(isSecret) };
}
