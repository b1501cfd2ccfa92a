import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../hub.module';

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

const large = { type: 'object', description: 'x'.repeat(100_000) };
const given = { name: 'growing', version: '1.0.0' };

function actions(count: number, prefix: string) {
  const action = { input: { schema: large }, output: { schema: large } };
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, action]));
}

describe('a definition', () => {
  it.each([
    ['integration', (client: Account['client']) => growIntegration(client)],
    ['plugin', (client: Account['client']) => growPlugin(client)],
    ['interface', (client: Account['client']) => growInterface(client)],
  ])('limits the definition of an %s to 4 MB, however many changes it takes', async (_kind, grower) => {
    const grow = await grower(alice.client);
    for (const prefix of ['a', 'b']) await grow(actions(10, prefix));

    await expect(grow(actions(1, 'more'))).rejects.toMatchObject({
      type: 'LimitExceeded',
      code: 413,
      message: expect.stringContaining('4194304 bytes'),
    });
    await expect(grow({ a0: null, ...actions(1, 'more') })).resolves.toBeDefined();
  });
});

type Actions = Record<string, ReturnType<typeof actions>[string] | null>;

async function growIntegration(client: Account['client']) {
  const { id } = (await client.createIntegration(given)).integration;
  return (grown: Actions) => client.updateIntegration({ id, actions: grown });
}

async function growPlugin(client: Account['client']) {
  const { id } = (await client.createPlugin({ ...given, code: { node: '', browser: '' } })).plugin;
  return (grown: Actions) => client.updatePlugin({ id, actions: grown });
}

async function growInterface(client: Account['client']) {
  const { id } = (await client.createInterface(given)).interface;
  return (grown: Actions) => client.updateInterface({ id, actions: grown });
}
