import type { Role } from '@parley/contracts/caller';
import { allOperations } from '@parley/contracts/contracts';
import type { Operation } from '@parley/contracts/operation';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { AdminConfig } from '../../../admin/src/config';
import { GatewayModule } from '../gateway.module';

/** Operations that accounts of the operator may call, written down a second time. No other one may become so unseen. */
const forAccounts = [
  ...['admin', 'chat', 'files', 'hub', 'models', 'runtime', 'tables'].flatMap((service) => [
    `GET /operator/${service}/dead-letters`,
    `POST /operator/${service}/dead-letters/replay`,
    `GET /operator/${service}/work`,
    `POST /operator/${service}/work/retry`,
    `DELETE /operator/${service}/work/{queue}/{key}`,
  ]),
  'GET /operator/runtime/bots/{botId}/deliveries',
  'POST /operator/chat/bots/{botId}/events/replay',
  'GET /operator/files/stuck',
  'GET /operator/files/failed',
  'POST /operator/files/retry',
  'POST /operator/files/storage/reconcile',
  'POST /operator/files/reindex',
  'POST /operator/files/reindex/drop-former',
  'POST /operator/files/reindex/words',
  'GET /operator/files/reindex/older-readers',
  'POST /operator/files/reindex/older-readers',
  'POST /operator/tables/reindex',
  'POST /operator/tables/reindex/words',
  'GET /operator/models/providers',
  'PUT /operator/models/providers/{name}',
  'DELETE /operator/models/providers/{name}',
  'POST /operator/models/providers/order',
  'POST /operator/models/providers/{name}/test',
];

const operations = allOperations.filter(({ access }) => access.actor === 'operator');
let api: PublicApi;
let stranger: Account;
const tokens = new Map<Role, string>();

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  stranger = await api.newAccount();
  tokens.set('owner', api.settings.bootstrapToken);
  const workspaceId = await operatorWorkspaceId();
  for (const role of ['administrator', 'manager', 'developer', 'viewer', 'billing'] as const) {
    const { accountId, token } = await api.newAccount();
    await api.addMember(workspaceId, accountId, role);
    tokens.set(role, token);
  }
});

afterAll(() => api?.stop());

async function operatorWorkspaceId(): Promise<string> {
  const [workspace] = await api.sql<{ id: string }>('SELECT id FROM admin.workspace WHERE is_operators');
  return workspace!.id;
}

/** Error of the answer, if any. A service that does not run here answers 503 after the caller was accepted. */
async function ask({ route }: Operation, token: string, of = api, headers: Record<string, string> = {}) {
  const line = route!.replaceAll(/\{\w+\}/g, 'none');
  const body = /^(POST|PUT) /.test(line) ? { json: {} } : {};
  const { json } = await of.send(line, { headers: { authorization: `Bearer ${token}`, ...headers }, ...body });
  return json as { type?: string; message?: string };
}

const isOperator = async (token: string, of = api) =>
  (await of.send('GET /v1/admin/operator-access', { headers: { authorization: `Bearer ${token}` } })).json;

describe("an account of the operator's workspace", () => {
  const list = allOperations.find(({ subject }) => subject === 'admin.deadLetters.list')!;

  it("lets accounts of the operator's workspace see and change queues and providers of models, and nothing else of the operator", () => {
    const routes = operations.filter(({ access }) => access.credentials.includes('pat')).map(({ route }) => route);

    expect(routes.sort()).toEqual(forAccounts.sort());
  });

  it.each(operations.map((operation) => [operation.route, operation] as const))(
    'forbids %s to the owner of another workspace, also with the headers of the operator',
    async (_route, operation) => {
      const headers = { 'x-workspace-id': await operatorWorkspaceId(), 'x-bot-id': 'none' };

      expect(await ask(operation, stranger.token)).toMatchObject({ type: 'Forbidden' });
      expect(await ask(operation, stranger.token, api, headers)).toMatchObject({ type: 'Forbidden' });
    },
  );

  it.each([
    ['owner', true],
    ['administrator', true],
    ['manager', false],
    ['developer', false],
    ['viewer', false],
    ['billing', false],
  ] as const)(
    "decides by the role %s whether an account of the operator's workspace is an operator: %s",
    async (role, isAllowed) => {
      const answer = await ask(list, tokens.get(role)!);

      expect(answer).toMatchObject(isAllowed ? { deadLetters: [] } : { type: 'Forbidden' });
      expect(await isOperator(tokens.get(role)!)).toEqual({ isOperator: isAllowed });
    },
  );

  it('refuses operator accounts in operations that require the operator token', async () => {
    const create = allOperations.find(({ subject }) => subject === 'admin.accounts.createToken')!;

    expect(await ask(create, tokens.get('owner')!)).toMatchObject({
      type: 'Forbidden',
      message: 'A personal access token may not call this operation.',
    });
  });

  it('does not pass the rights of an operator account on to its bots', async () => {
    const workspaceId = await operatorWorkspaceId();
    const owner = api.client(tokens.get('owner')!, workspaceId);
    const { value } = await owner.createBotApiKey({ botId: (await owner.createBot({})).bot.id });

    expect(await ask(list, value)).toMatchObject({ type: 'Forbidden' });
  });

  it('rejects an operator account soon after its role was taken away', async () => {
    const { accountId, token } = await api.newAccount();
    const workspaceId = await operatorWorkspaceId();
    const owner = api.client(tokens.get('owner')!, workspaceId);
    const { id } = await owner.createWorkspaceMember({ email: await emailOf(accountId), role: 'administrator' });
    expect(await ask(list, token)).toMatchObject({ deadLetters: [] });

    await owner.deleteWorkspaceMember({ id });

    expect(await ask(list, token)).toMatchObject({ type: 'Forbidden' });
  });

  it('rejects an unknown token as such for operations of the operator', async () => {
    expect(await ask(list, `${stranger.token.slice(0, -8)}00000000`)).toMatchObject({ type: 'Unauthorized' });
  });
});

it("uses HUB_OPERATOR_WORKSPACE_ID as the operator's workspace", async () => {
  const other = await startPublicApi(
    GatewayModule,
    configured(AdminModule, AdminConfig, { operatorWorkspaceId: 'wkspace_01ARZ3NDEKTSV4RRFFQ69G5FAV' }),
  );
  try {
    const list = allOperations.find(({ subject }) => subject === 'admin.deadLetters.list')!;
    const { accountId, token } = await other.newAccount();
    await other.sql(
      `INSERT INTO admin.workspace (id, name, owner_id) VALUES ('wkspace_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'Ops', $1)`,
      [accountId],
    );
    await other.addMember('wkspace_01ARZ3NDEKTSV4RRFFQ69G5FAV', accountId, 'owner');

    expect(await ask(list, token, other)).toMatchObject({ deadLetters: [] });
    expect(await ask(list, other.settings.bootstrapToken, other)).toMatchObject({ type: 'Forbidden' });
    expect(await isOperator(other.settings.bootstrapToken, other)).toEqual({ isOperator: false });
  } finally {
    await other.stop();
  }
});

async function emailOf(accountId: string): Promise<string> {
  const [account] = await api.sql<{ email: string }>('SELECT email FROM admin.account WHERE id = $1', [accountId]);
  return account!.email;
}
