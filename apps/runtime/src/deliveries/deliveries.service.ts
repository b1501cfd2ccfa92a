import { Injectable } from '@nestjs/common';
import type { Deliveries, ListDeliveries } from '@parley/contracts/runtime/deliveries';
import { Every } from '@parley/work-queue/worker';
import { RuntimeConfig } from '../config';
import { DeliveriesRepository, type ListedDelivery } from './deliveries.repository';

const cleanMs = 10 * 60_000;

@Injectable()
export class DeliveriesService {
  constructor(
    private readonly deliveries: DeliveriesRepository,
    private readonly config: RuntimeConfig,
  ) {}

  async list(query: ListDeliveries): Promise<Deliveries> {
    const { rows, nextToken } = await this.deliveries.listDeliveries(query);
    return { deliveries: rows.map(toDeliveryEntry), meta: { nextToken } };
  }

  /** Safe to run in several processes. */
  @Every({ name: 'runtime.deliveryRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.deliveries.deleteSettledBefore(this.config.deliveryRetentionDays);
  }
}

function toDeliveryEntry(row: ListedDelivery) {
  return {
    botId: row.bot_id,
    eventId: row.event_id,
    type: row.type,
    status: row.status,
    reason: row.reason,
    createdAt: row.created_at.toISOString(),
    settledAt: row.settled_at?.toISOString(),
    attempts: row.attempts,
  };
}
