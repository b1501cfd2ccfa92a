import { Controller } from '@nestjs/common';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { type AuditEntry, recordChange } from '@parley/contracts/admin/audit';
import { Inbox } from '@parley/events/inbox';
import { AuditRepository } from './audit.repository';

/** Records changes that other services report. Safe to repeat: the inbox deduplicates events. */
@Controller()
export class RecordChangeHandler {
  constructor(
    private readonly audit: AuditRepository,
    private readonly inbox: Inbox,
  ) {}

  @Consumes(recordChange)
  async handle(entry: AuditEntry, { event }: Delivery): Promise<void> {
    await this.inbox.once(recordChange.name, event.id, (tx) => this.audit.insertReported(tx, entry));
  }
}
