import { administrativeChange, auditEntryOf, type ReportedChange } from '@parley/contracts/admin/audit';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { Transaction } from '@parley/persistence/database';
import type { Outbox } from '@parley/events/outbox';

/** Reports a change in the hub to admin by an event, for the workspace's audit records. */
export async function audit(
  outbox: Outbox,
  tx: Transaction,
  caller: WorkspaceCaller,
  change: ReportedChange,
): Promise<void> {
  await outbox.add(tx, administrativeChange, auditEntryOf(caller, change));
}
