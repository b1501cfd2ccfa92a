import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';

let api: PublicApi;
let alice: Account;
let botId: string;
let webhookId: string;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  alice = await api.newAccount();
  const { bot } = await alice.client.createBot({ name: 'Harbour "bot" <1>' });
  botId = bot.id;
  webhookId = Object.values(bot.integrations)[0]!.webhookId;
});

afterAll(() => api?.stop());

const path = () => `/v1/admin/bots/${botId}/webchat/settings`;
const as = ({ token, workspaceId }: Account) => ({ authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId });
const store = (settings: object, account = alice) =>
  api.send(`PUT ${path()}`, { headers: as(account), json: settings });
const show = (id = webhookId) => api.send(`GET /webchat/${id}/settings`, {});

it.each([
  [
    'preconfigured',
    (url: string) =>
      `<script type="module" src="${url}/webchat/embed.js"></script>\n<parley-webchat webhook-id="${webhookId}"></parley-webchat>`,
  ],
  ['configurable', () => expect.stringContaining('chat-title="Harbour &quot;bot&quot; &lt;1&gt;"')],
  ['fullscreen', (url: string) => expect.stringContaining(`<iframe src="${url}/webchat/${webhookId}" title="Harbour`)],
  ['sharableUrl', (url: string) => `${url}/webchat/${webhookId}`],
] as const)('names the web chat of the bot in the snippet of the form %s', async (type, expected) => {
  const { code } = await alice.client.getBotWebchat({ id: botId, type });

  const base = /https?:\/\/[^/"]+/.exec(code)![0];
  expect(code).toEqual(expected(base));
});

it('returns no snippet for a bot without the chat integration', async () => {
  const { bot } = await alice.client.createBot({});
  const [id] = Object.keys(bot.integrations);
  await alice.client.updateBot({ id: bot.id, integrations: { [id!]: null } });

  await expect(alice.client.getBotWebchat({ id: bot.id, type: 'sharableUrl' })).rejects.toMatchObject({
    type: 'ResourceNotFound',
    message: expect.stringContaining('install the integration "chat"'),
  });
});

it('replaces web chat settings as a whole, shows them to everybody without origins, and audits them', async () => {
  const settings = {
    title: 'Harbour',
    primaryColor: '#0b7285',
    greeting: 'Ahoy!',
    startingChoices: [{ label: 'Opening hours', value: 'When do you open?' }],
    allowedOrigins: ['https://www.example.com'],
  };
  expect(await store({ description: 'Gone with the next.' })).toMatchObject({ status: 200 });
  expect(await store(settings)).toMatchObject({ status: 200 });

  const { json: stored } = await api.send(`GET ${path()}`, { headers: as(alice) });
  const { json: shown } = await show();
  const { records } = await alice.client.getAuditRecords({ id: alice.workspaceId, pageSize: 1 });
  const { allowedOrigins: _allowedOrigins, ...appearance } = settings;
  expect(stored).toEqual(settings);
  expect(shown).toEqual({ ...appearance, chatUrl: expect.stringMatching(new RegExp(`/chat/${webhookId}$`)) });
  expect(records[0]).toMatchObject({ operation: 'admin.webchats.updateSettings', resourceId: botId });
});

it('accepts no files of visitors by default, and tells the chat service the storage quota otherwise', async () => {
  const requireUploads = () => api.call(admin.webchats.requireUploads, systemCaller('chat'), { webhookId });
  await store({});
  await expect(requireUploads()).rejects.toMatchObject({
    type: 'Forbidden',
    message: expect.stringContaining('This bot accepts no files.'),
  });

  await store({ allowsUploads: true });

  expect(await requireUploads()).toEqual({ storageQuota: api.settings.quotaStorageBytes });
});

it.each([
  [{ title: '' }, 'title'],
  [{ primaryColor: 'red' }, 'primaryColor must be a color such as #1864ab'],
  [{ avatarUrl: 'javascript:alert(1)' }, 'avatarUrl'],
  [{ allowedOrigins: ['https://a.example/path'] }, 'allowedOrigins must be a list of origins'],
  [{ allowedOrigins: ["https://a.example; script-src 'unsafe-inline'"] }, 'allowedOrigins must be a list of origins'],
  [{ startingChoices: Array.from({ length: 11 }, () => ({ label: 'a', value: 'b' })) }, 'startingChoices'],
])('rejects web chat settings such as %j', async (settings, message) => {
  expect(await store(settings)).toMatchObject({
    status: 400,
    json: { type: 'InvalidPayload', message: expect.stringContaining(message) },
  });
});

it('refuses web chat settings to other workspaces, and to roles that may not write', async () => {
  const [mallory, viewer] = await Promise.all([api.newAccount(), api.newAccount()]);
  await api.addMember(alice.workspaceId, viewer.accountId, 'viewer');

  expect(await store({}, mallory)).toMatchObject({ status: 404 });
  expect(await api.send(`GET ${path()}`, { headers: as(mallory) })).toMatchObject({ status: 404 });
  expect(await store({}, { ...viewer, workspaceId: alice.workspaceId })).toMatchObject({ status: 403 });
});

it.each(['none', 'x'.repeat(2000), '%00'])('returns 404 for the web chat of %s', async (id) => {
  expect((await show(id)).status).toBe(404);
});

it('returns 404 for the web chat of a disabled chat integration', async () => {
  const { bot } = await alice.client.createBot({});
  const { webhookId: disabled } = Object.values(bot.integrations)[0]!;
  expect((await show(disabled)).status).toBe(200);

  await api.sql('UPDATE admin.installation SET enabled = false WHERE bot_id = $1', [bot.id]);

  expect((await show(disabled)).status).toBe(404);
});

it('finds the page of the newest bot of a workspace, which the start of the platform prints', async () => {
  const bob = await api.newAccount();
  const newest = () => api.call(admin.webchats.findNewest, systemCaller('start'), { workspaceId: bob.workspaceId });
  expect(await newest()).toEqual({ url: null });

  await bob.client.createBot({});
  const { bot } = await bob.client.createBot({});

  const { webhookId: id } = Object.values(bot.integrations)[0]!;
  expect(await newest()).toEqual({ url: `http://parley.test/webchat/${id}` });
});
