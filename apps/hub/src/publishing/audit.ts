import { administrativeChange, type AuditEntry } from '@parley/contracts/admin/audit';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { Operation } from '@parley/contracts/operation';
import type { Transaction } from '@parley/persistence/database';
import type { Outbox } from '@parley/events/outbox';

/** Reports a change in the hub to admin by an event, for the workspace's audit records. */
export async function audit(
  outbox: Outbox,
  tx: Transaction,
  caller: WorkspaceCaller,
  change: { operation: Operation; id: string; name: string; value?: string },
): Promise<void> {
  const entry: AuditEntry = {
    requestId: caller.requestId,
    workspaceId: caller.workspace.id,
    accountId: caller.account?.id,
    email: caller.account?.email,
    address: caller.address,
    action: 'UNKNOWN',
    operation: change.operation.subject,
    resourceId: change.id,
    resourceName: change.name,
    value: change.value ?? null,
    recordedAt: new Date().toISOString(),
  };
  await outbox.add(tx, administrativeChange, entry);
}
