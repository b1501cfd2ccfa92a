import { Injectable } from '@nestjs/common';
import type { Delivery } from '@parley/bus/event-stream';
import { Consumes } from '@parley/bus/handles';
import { administrativeChange, type AuditEntry } from '@parley/contracts/admin/audit';
import { Inbox } from '@parley/outbox/inbox';
import { AuditRepository } from './audit.repository';

const consumer = 'admin.recordChange';

/** Records what other services changed. Safe to repeat: the inbox remembers the event. */
@Injectable()
export class RecordChangeHandler {
  constructor(
    private readonly audit: AuditRepository,
    private readonly inbox: Inbox,
  ) {}

  @Consumes(administrativeChange, { name: consumer })
  async handle(entry: AuditEntry, { event }: Delivery): Promise<void> {
    await this.inbox.once(consumer, event.id, (tx) => this.audit.addEntry(tx, entry));
  }
}
