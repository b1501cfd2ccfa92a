import { randomUUID } from 'node:crypto';
import { administrativeChange, type AuditEntry } from '@parley/contracts/admin/audit';
import { Database } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { RecordChangeHandler } from './record-change.handler';

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

function entryFor(workspaceId: string): AuditEntry {
  return {
    requestId: `req_${randomUUID()}`,
    workspaceId,
    accountId: randomUUID(),
    email: 'ann@example.com',
    address: '10.0.0.1',
    action: 'UNKNOWN',
    operation: 'hub.integrations.create',
    resourceId: 'intver_1',
    resourceName: 'slack',
    value: '1.0.0',
    recordedAt: '2026-01-02T03:04:05.678Z',
  };
}

describe('audit records', () => {
  it('shows account, action, resource, time and address of a change in audit records', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'Tea' });

    await alice.client.updateWorkspace({ id, about: 'Leaves' });

    const { records, meta } = await alice.client.getAuditRecords({ id });
    const [account] = await api.sql<{ email: string }>('SELECT email FROM admin.account WHERE id = $1', [
      alice.accountId,
    ]);
    const shared = { userId: alice.accountId, userEmail: account!.email, resourceId: id, address: '127.0.0.1' };
    expect(meta).toEqual({});
    expect(records).toEqual([
      {
        ...shared,
        id: expect.stringMatching(/^audit_/),
        recordedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        action: 'UPDATE_WORKSPACE',
        operation: 'admin.workspaces.update',
        resourceName: null,
        value: '{"about":"Leaves"}',
      },
      {
        ...shared,
        id: expect.any(String),
        recordedAt: expect.any(String),
        action: 'CREATE_WORKSPACE',
        operation: 'admin.workspaces.create',
        resourceName: 'Tea',
        value: null,
      },
    ]);
  });

  it('lists each audit record once across pages, also with equal times', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'Tea' });
    for (const about of ['1', '2', '3', '4']) await alice.client.updateWorkspace({ id, about });
    await api.sql("UPDATE admin.audit_record SET recorded_at = '2026-01-01' WHERE workspace_id = $1", [id]);

    const first = await alice.client.getAuditRecords({ id, pageSize: 3 });
    const second = await alice.client.getAuditRecords({ id, pageSize: 3, nextToken: first.meta.nextToken });

    expect([first.records.length, second.records.length, second.meta]).toEqual([3, 2, {}]);
    expect(new Set([...first.records, ...second.records].map((record) => record.id)).size).toBe(5);
  });

  it('shows audit records to administrators and owners only', async () => {
    for (const role of ['administrator', 'manager', 'developer', 'billing', 'viewer'] as const) {
      const carol = await api.newAccount();
      await api.addMember(alice.workspaceId, carol.accountId, role);

      const list = carol.client.getAuditRecords({ id: alice.workspaceId });

      if (role === 'administrator') await expect(list).resolves.toBeDefined();
      else await expect(list).rejects.toMatchObject({ type: 'Forbidden', message: expect.stringContaining(role) });
    }
  });

  it('returns the same 404 for audit records of another workspace as of a missing one', async () => {
    const bob = await api.newAccount();

    for (const id of [alice.workspaceId, 'wkspace_none']) {
      await expect(bob.client.getAuditRecords({ id })).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The workspace "${id}" was not found.`,
      });
    }
  });
});

describe('a change that another service reports', () => {
  it('records a change that another service reports, with all of its fields', async () => {
    const { client, workspaceId: id } = await api.newAccount();
    const entry = entryFor(id);
    const [, app] = api.apps;

    await app!
      .get(Database, { strict: false })
      .transaction((tx) => app!.get(Outbox, { strict: false }).add(tx, administrativeChange, entry));

    const { records } = await waitFor(
      () => client.getAuditRecords({ id }),
      (answer) => answer.records.length > 0,
    );
    expect(records).toEqual([
      {
        id: expect.stringMatching(/^audit_/),
        recordedAt: entry.recordedAt,
        userId: entry.accountId,
        userEmail: entry.email,
        resourceId: entry.resourceId,
        resourceName: entry.resourceName,
        value: entry.value,
        action: entry.action,
        operation: entry.operation,
        address: entry.address,
      },
    ]);
  });

  it('records a reported change once when its event is redelivered, without an account for a key', async () => {
    const { client, workspaceId: id } = await api.newAccount();
    const handler = api.apps[1]!.get(RecordChangeHandler, { strict: false });
    const { accountId: _accountId, email: _email, ...entry } = entryFor(id);
    const event = { id: `outbox_${randomUUID()}`, subject: administrativeChange.subject, data: entry };

    for (const attempt of [1, 2, 3]) {
      await handler.handle(entry, { event, attempt, signal: new AbortController().signal });
    }

    const { records } = await client.getAuditRecords({ id });
    expect(records).toEqual([expect.objectContaining({ userId: null, userEmail: null })]);
  });
});
