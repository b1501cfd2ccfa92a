import type { Client } from '@botpress/client';
import { type Account, type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { AdminModule } from '../admin.module';
import { builtInChat } from './built-in-chat';
import { HubShelf, HubStandIn } from './test/hub-stand-in';

type Update = Omit<Parameters<Client['updateBot']>[0], 'id'>;

const shelf = new HubShelf();
const slack = shelf.addIntegration('intver_slack', {
  name: 'slack',
  channels: ['dm', 'channel'],
  configurationSchema: {
    type: 'object',
    properties: { token: { type: 'string', minLength: 3 } },
    required: ['token'],
  },
  configurationSchemas: { manual: { type: 'object', properties: { port: { type: 'number' } } } },
});
const slackNext = shelf.addIntegration('intver_slack_next', { name: 'slack', version: '2.0.0' });
const clock = shelf.addIntegration('intver_clock', { name: 'clock', isCallable: false });

let door: FrontDoor;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  door = await startFrontDoor(GatewayModule, AdminModule, HubStandIn.of(shelf));
  [alice, bob] = await Promise.all([door.newAccount(), door.newAccount()]);
});

afterAll(() => door?.stop());

beforeEach(() => {
  shelf.asked = [];
  shelf.beforeAnswer = () => Promise.resolve();
});

const headers = (account: Account) => ({
  authorization: `Bearer ${account.token}`,
  'x-workspace-id': account.workspaceId,
  'x-multiple-integrations': 'true',
});

/** A new bot of Alice's. What `byAlias` asks has the header x-multiple-integrations. */
async function newBot() {
  const { id } = (await alice.client.createBot({})).bot;
  const send = async (method: string, json?: unknown) => {
    const answer = await door.send(`${method} /v1/admin/bots/${id}`, { headers: headers(alice), json });
    if (answer.status !== 200) throw answer.json;
    return answer.json.bot as Awaited<ReturnType<Client['getBot']>>['bot'];
  };
  return {
    id,
    update: async (changes: Update) => (await alice.client.updateBot({ id, ...changes })).bot,
    get: async () => (await alice.client.getBot({ id })).bot,
    byAlias: { update: (changes: Update) => send('PUT', changes), get: () => send('GET') },
  };
}

async function announced(botId: string) {
  const rows = await door.sql<{ data: { revision: number; integrations: unknown[]; plugins: unknown[] } }>(
    "SELECT data FROM admin.outbox WHERE subject = 'admin.installationsChanged' AND data ->> 'botId' = $1 ORDER BY id",
    [botId],
  );
  return rows.map(({ data }) => data);
}

describe('a new bot', () => {
  it('has the chat installed, and the hub is told so', async () => {
    const { id, get, byAlias } = await newBot();

    const { chat } = (await byAlias.get()).integrations;

    expect(chat).toEqual({
      id: builtInChat.id,
      name: 'chat',
      version: '1.0.0',
      title: 'Chat',
      description: builtInChat.description,
      iconUrl: '',
      createdAt: builtInChat.createdAt,
      updatedAt: builtInChat.updatedAt,
      public: true,
      visibility: 'public',
      verificationStatus: 'approved',
      lifecycleStatus: 'published',
      enabled: true,
      webhookId: expect.stringMatching(/^webhook_[0-9A-Z]{26}$/),
      webhookUrl: `http://parley.test/chat/${chat!.webhookId}`,
      configurationType: null,
      configuration: {},
      status: 'registered',
      statusReason: null,
      disabledChannels: [],
    });
    expect((await get()).integrations).toEqual({ [builtInChat.id]: chat });
    expect(await announced(id)).toEqual([
      {
        botId: id,
        workspaceId: alice.workspaceId,
        revision: 1,
        integrations: [{ alias: 'chat', id: builtInChat.id }],
        plugins: [],
      },
    ]);
    expect(shelf.asked).toEqual([]);
  });
});

describe('installing an integration', () => {
  it('by alias asks the hub once, mints a webhook and shows it', async () => {
    const { id, byAlias, get } = await newBot();

    const { integrations } = await byAlias.update({
      integrations: {
        team: { integrationId: slack, configuration: { token: 'hush-token' }, disabledChannels: ['dm'] },
      },
    });

    expect(integrations['team']).toMatchObject({
      id: slack,
      name: 'slack',
      enabled: true,
      webhookUrl: `http://parley.test/webhooks/${integrations['team']!.webhookId}`,
      configurationType: null,
      configuration: { token: 'hush-token' },
      disabledChannels: ['dm'],
      status: 'registration_pending',
      statusReason: expect.stringMatching(/later/),
    });
    expect(Object.keys(integrations)).toEqual(['chat', 'team']);
    expect(await byAlias.get()).toMatchObject({ integrations });
    expect(Object.keys((await get()).integrations)).toEqual([builtInChat.id, slack]);
    expect(shelf.asked).toEqual([`integrations ${slack}`]);
    expect((await announced(id)).at(-1)).toMatchObject({
      revision: 2,
      integrations: [
        { alias: 'chat', id: builtInChat.id },
        { alias: 'team', id: slack },
      ],
    });
  });
});
