import type { Role } from '@parley/contracts/caller';
import { allOperations } from '@parley/contracts/contracts';
import type { Operation, Route } from '@parley/contracts/operation';
import { type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../gateway.module';

const holders = {
  everybody: ['owner', 'administrator', 'manager', 'developer', 'viewer', 'billing'],
  viewers: ['owner', 'administrator', 'manager', 'developer', 'viewer'],
  developers: ['owner', 'administrator', 'manager', 'developer'],
  managers: ['owner', 'administrator', 'manager'],
  administrators: ['owner', 'administrator'],
  owners: ['owner'],
} satisfies Record<string, Role[]>;
type Holders = keyof typeof holders;

/** Permissions of each role, written down a second time, so that a mistake in a contract fails this test. */
const table: Record<Holders, Route[]> = {
  everybody: [
    'GET /v1/admin/workspaces/{id}',
    'GET /v1/admin/workspaces/{id}/billing/invoices',
    'GET /v1/admin/workspaces/{id}/billing/upcoming-invoice',
    'POST /v1/admin/workspaces/{id}/billing/invoices/charge-unpaid',
    'GET /v1/admin/workspaces/{id}/quota',
    'GET /v1/admin/workspaces/{id}/quotas',
    'GET /v1/admin/workspaces/{id}/usages',
    'GET /v1/admin/workspaces/{id}/usages/by-bot',
    'GET /v1/admin/usages/{id}',
    'GET /v1/admin/usages/{id}/activity',
    'GET /v1/admin/usages/{id}/daily-activity',
    'GET /v1/admin/usages/{id}/history',
    'GET /v1/admin/budget',
    'GET /v1/admin/workspace-members/me',
  ],
  viewers: [
    'GET /v1/admin/bots',
    'GET /v1/admin/bots/{botId}/allowlist',
    'GET /v1/admin/bots/{botId}/budget',
    'GET /v1/admin/bots/{botId}/integrations/{alias}/link',
    'GET /v1/admin/bots/{botId}/integrations/{integrationId}/shareable-id',
    'GET /v1/admin/bots/{id}',
    'GET /v1/admin/bots/{id}/logs',
    'GET /v1/admin/bots/{botId}/webchat/settings',
    'GET /v1/admin/bots/{id}/webchat',
    'GET /v1/admin/bots/{id}/versions',
    'GET /v1/admin/bots/{id}/versions/{versionId}',
    'GET /v1/admin/integrations',
    'GET /v1/admin/bots/{id}/action-runs',
    'GET /v1/admin/bots/{id}/analytics',
    'GET /v1/admin/bots/{id}/issues',
    'GET /v1/admin/bots/{id}/issues/{issueId}',
    'GET /v1/admin/bots/{id}/issues/{issueId}/events',
    'GET /v1/admin/integrations/{id}',
    'GET /v1/admin/integrations/{id}/logs',
    'GET /v1/admin/integrations/{name}/{version}',
    'GET /v1/admin/interfaces',
    'GET /v1/admin/interfaces/{id}',
    'GET /v1/admin/interfaces/{name}/{version}',
    'GET /v1/admin/plugins',
    'GET /v1/admin/plugins/{id}',
    'GET /v1/admin/plugins/{id}/code/{platform}',
    'GET /v1/admin/plugins/{id}/dereferenced',
    'GET /v1/admin/plugins/{name}/{version}',
    'GET /v1/admin/workspace-members',
    'GET /v1/admin/workspaces/preferences/{key}',
    'POST /v1/tables/{table}/rows/find',
  ],
  developers: [
    'DELETE /v1/admin/bots/{id}/issues/{issueId}',
    'PUT /v1/admin/bots/{botId}/webchat/settings',
    'DELETE /v1/admin/bots/{botId}/integrations/{integrationId}/shareable-id',
    'DELETE /v1/admin/integrations/{id}',
    'DELETE /v1/admin/interfaces/{id}',
    'DELETE /v1/admin/plugins/{id}',
    'GET /v1/admin/bots/{botId}/integrations/{alias}/webhook-requests',
    'GET /v1/admin/bots/{botId}/integrations/{alias}/webhook-requests/{requestId}',
    'GET /v1/tables/{table}/export',
    'POST /v1/admin/bots/{botId}/integrations/{alias}/register',
    'POST /v1/admin/bots/{botId}/integrations/{alias}/webhook-requests/{requestId}/replay',
    'PUT /v1/admin/bots/{botId}/integrations/{alias}/webhook-recording',
    'POST /v1/admin/bots',
    'POST /v1/admin/bots/{botId}/integrations/{integrationId}/shareable-id',
    'POST /v1/admin/bots/{id}/versions',
    'POST /v1/admin/bots/{id}/versions/deploy',
    'POST /v1/admin/integrations',
    'POST /v1/admin/integrations/validate',
    'POST /v1/admin/interfaces',
    'POST /v1/admin/plugins',
    'POST /v1/admin/workspaces/preferences/{key}',
    'PUT /v1/admin/bots/{id}',
    'PUT /v1/admin/integrations/{id}',
    'PUT /v1/admin/integrations/{id}/validate',
    'PUT /v1/admin/interfaces/{id}',
    'PUT /v1/admin/plugins/{id}',
  ],
  managers: [
    'DELETE /v1/admin/bots/baks/{id}',
    'DELETE /v1/admin/bots/{id}',
    'DELETE /v1/admin/integrations/iaks/{id}',
    'GET /v1/admin/bots/baks',
    'GET /v1/admin/integrations/iaks',
    'POST /v1/admin/bots/baks',
    'POST /v1/admin/bots/{id}/signing-secrets/rotate',
    'POST /v1/admin/integrations/iaks',
    'POST /v1/admin/integrations/request-verification',
    'POST /v1/admin/integrations/{id}/signing-secrets/rotate',
    'PUT /v1/admin/bots/{botId}/allowlist',
  ],
  administrators: [
    'DELETE /v1/admin/workspace-members/{id}',
    'GET /v1/admin/workspaces/{id}/audit-records',
    'POST /v1/admin/bots/{id}/transfer',
    'POST /v1/admin/workspace-members',
    'PUT /v1/admin/workspace-members/{id}',
    'POST /v1/admin/workspaces/{id}/migrate-to-v4',
    'PUT /v1/admin/workspaces/{id}',
    'PUT /v1/admin/bots/{botId}/budget',
    'PUT /v1/admin/budget',
    'PUT /v1/ai/contents',
    'PUT /v1/admin/quotas/ai-spend',
  ],
  owners: ['DELETE /v1/admin/workspaces/{id}'],
};

/** Default for operations on a bot's data: viewers read, developers may do the rest. */
function holdersOf({ route, access }: Operation): Holders | undefined {
  const named = (Object.keys(table) as Holders[]).find((one) => table[one].includes(route!));
  if (named || access.actor !== 'bot') return named;
  return route!.startsWith('GET ') ? 'viewers' : 'developers';
}

/** Operations with a route that a workspace role authorizes. The workspace comes from a header, or from an id in the path. */
const operations = allOperations.filter(({ route, access }) =>
  access.actor === 'account'
    ? /^\S+ \/v1\/admin\/(workspaces|usages)\/\{id\}(?!\/public)/.test(route!)
    : route && ['workspace', 'bot'].includes(access.actor),
);

let api: PublicApi;
let context: Record<string, string>;
const tokens = new Map<Role, string>();

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  const owner = await api.newAccount();
  const { bot } = await owner.client.createBot({});
  context = { 'x-workspace-id': owner.workspaceId, 'x-bot-id': bot.id };
  tokens.set('owner', owner.token);
  for (const role of holders.everybody.slice(1)) {
    const { accountId, token } = await api.newAccount();
    await api.addMember(owner.workspaceId, accountId, role);
    tokens.set(role, token);
  }
});

afterAll(() => api?.stop());

/** Error type of the answer, if any. All ids are unknown, so that nothing changes. */
async function ask({ route, access }: Operation, role: Role): Promise<string | undefined> {
  const id = access.actor === 'account' ? context['x-workspace-id']! : 'none';
  const line = route!.replace('{id}', id).replaceAll(/\{\w+\}/g, 'none');
  const headers = { authorization: `Bearer ${tokens.get(role)!}`, ...context };
  const query = /usages|quota/.test(line) ? '?type=bot_count' : '';
  const body = /^(POST|PUT|PATCH) /.test(line) ? { json: {} } : {};
  const { json } = await api.send(`${line}${query}`, { headers, ...body });
  // Operations for SDKs of other vendors have errors in OpenAI's format.
  const { error } = json as { error?: { code: string } };
  const { type = error?.code } = json as { type?: string };
  if (type === 'Unauthorized') throw new Error(`${line} does not know the ${role}`);
  return type;
}

describe('the roles', () => {
  it('covers every operation that depends on a role', () => {
    expect(operations.length).toBeGreaterThan(20);
    expect(operations.filter((operation) => !holdersOf(operation)).map(({ route }) => route)).toEqual([]);
  });

  it.each(operations.map((operation) => [operation.route, holdersOf(operation), operation] as const))(
    'allows %s for %s and forbids it for all others',
    async (_route, allowed, operation) => {
      const forbidden: Role[] = [];
      for (const role of holders.everybody) if ((await ask(operation, role)) === 'Forbidden') forbidden.push(role);

      expect(forbidden).toEqual(holders.everybody.filter((role) => !(holders[allowed!] as Role[]).includes(role)));
    },
  );
});
