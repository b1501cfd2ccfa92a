import { randomBytes } from 'node:crypto';
import type { Client } from '@botpress/client';
import { chat } from '@parley/contracts/chat/chat';
import { models } from '@parley/contracts/models/models';
import { operationsOf } from '@parley/contracts/operation';
import { warningHeader } from '@parley/contracts/warning';
import { operatorToken } from '@parley/secrets/token';
import { clientOf, parley } from '@parley/testing/api';
import { sendTo } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { describeHandover } from '../bots/handover.behaviour';
import { describeBots } from './bots.behaviour';
import { describeChat } from './chat.behaviour';
import { describeFiles } from './files.behaviour';
import { describeTables } from './tables.behaviour';
import { brokenPromises, undeclared } from '../support/answers';
import { anonymous, call, callChat, clientMethods } from '../support/client-methods';
import { ask, disagreements, requestOf, routedOperations, senderOf } from '../support/requests';
import { Tenant } from '../support/tenant';

/** Operations of the public client. Without operations for `anyone`: their URL is the credential. */
const publicOperations = routedOperations.filter(
  ({ access, isOwn }) => !isOwn && !['operator', 'anyone', 'chat-user', 'chat-visitor'].includes(access.actor),
);
const ownOperations = routedOperations.filter(({ isOwn }) => isOwn);
/** Operations for which the public chat client has a method of the same name. */
const chatOperations = operationsOf(chat.chatApi).filter(({ subject }) => !subject.includes('.hello'));

const page = `<html><head><title>Tea</title><script>alert('no')</script></head><body>
<h1>How to make tea</h1><p>Boil the water. Pour it over the leaves.</p>
<h2>Kinds</h2><table><tr><th>Name</th><th>Minutes</th></tr><tr><td>Green</td><td>2</td></tr><tr><td>Black</td><td>4</td></tr></table>
<ul><li>Cup<ul><li>Saucer</li></ul></li><li>Spoon</li></ul></body></html>`;

/** @param describeMore further tests of the same platform */
export function describePlatform(
  name: string,
  start: () => Promise<RunningPlatform>,
  describeMore: () => void = () => undefined,
): void {
  describe(name, () => {
    let platform: RunningPlatform;
    let admin: Client;

    beforeAll(async () => {
      platform = await start();
      admin = clientOf(platform);
    });

    afterAll(async () => {
      await platform?.stop();
    });

    async function newBot() {
      const { bot } = await admin.createBot({});
      return { botId: bot.id, client: clientOf(platform, bot.id) };
    }

    function indexed(client: Client, id: string) {
      return waitFor(
        async () => (await client.getFile({ id })).file,
        ({ status }) => status === 'indexing_completed' || status === 'indexing_failed',
        60_000,
      );
    }

    describeMore();

    it('lets the pages of the allowed origins read the web chat of a bot', async () => {
      const { bot } = await admin.createBot({});
      await sendTo(platform.url, `PUT /v1/admin/bots/${bot.id}/webchat/settings`, {
        headers: { authorization: `Bearer ${platform.token}`, 'x-workspace-id': platform.workspaceId },
        json: { allowedOrigins: ['https://www.example.com'] },
      });
      const { webhookId } = Object.values(bot.integrations)[0]!;
      const readableFor = async (origin: string) => {
        const { headers } = await sendTo(platform.url, `GET /chat/${webhookId}/hello`, { headers: { origin } });
        return headers['access-control-allow-origin'] === origin;
      };

      expect(await readableFor('https://www.example.com')).toBe(true);
      expect(await readableFor('https://evil.example')).toBe(false);
    });

    it('uses the only workspace of a token by default, and refuses another workspace than that of a bot key', async () => {
      const { botId } = await newBot();
      const { value } = await admin.createBotApiKey({ botId });
      const list = (token: string, line: string, headers: Record<string, string> = {}, json?: unknown) =>
        sendTo(platform.url, line, { headers: { authorization: `Bearer ${token}`, ...headers }, json });

      const implied = await list(platform.token, 'GET /v1/admin/bots');
      const contradicted = await list(
        value,
        'POST /v1/admin/introspect',
        { 'x-workspace-id': 'wkspace_none' },
        { botId },
      );

      expect(implied).toMatchObject({ status: 200, json: { bots: expect.any(Array) as unknown[] } });
      expect(contradicted).toMatchObject({
        status: 403,
        json: { message: 'x-workspace-id "wkspace_none" was not found, or this token has no access to it.' },
      });
    });

    it('turns an uploaded page into passages, in the order of the document', async () => {
      const { client } = await newBot();

      const { file } = await client.uploadFile({ key: 'guides/tea.html', content: page, index: true });

      expect(await indexed(client, file.id)).toMatchObject({
        status: 'indexing_completed',
        contentType: 'text/html',
        size: page.length,
      });
      const passages = await client.list.filePassages({ id: 'guides/tea.html' }).collect();
      const text = passages.map(({ content }) => content).join('\n');
      expect(passages.map(({ meta }) => meta.position)).toEqual(passages.map((_passage, position) => position));
      expect(text).toMatch(
        /How to make tea[\s\S]*Boil the water[\s\S]*Kinds[\s\S]*Green[\s\S]*Black[\s\S]*Saucer[\s\S]*Spoon/,
      );
      expect(text).not.toContain('alert');
    });

    it('returns the uploaded bytes, whole and by range', async () => {
      const { client } = await newBot();
      const content = randomBytes(300_000);

      const { file } = await client.uploadFile({ key: 'noise.bin', content });

      const { url } = (await client.getFile({ id: file.id })).file;
      for (const one of [file.url, url])
        expect(Buffer.from(await (await fetch(one)).arrayBuffer()).equals(content)).toBe(true);
      const part = await fetch(url, { headers: { range: 'bytes=100-199' } });
      expect(part.status).toBe(206);
      expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(100, 200))).toBe(true);
    });

    it('reports why a file cannot be indexed', async () => {
      const { client } = await newBot();

      const { file } = await client.uploadFile({ key: 'photo.txt', content: randomBytes(10_000), index: true });

      expect(await indexed(client, file.id)).toMatchObject({
        status: 'indexing_failed',
        failedStatusReason: expect.stringMatching(/\w+/) as string,
      });
    });

    it('stores a body larger than one bus message', async () => {
      const code = `exports.handler = () => ({ status: 200 }); // ${'x'.repeat(20_000_000)}`;

      const { bot } = await admin.createBot({ name: 'large', code });

      expect((await admin.getBot({ id: bot.id })).bot.name).toBe('large');
      const [version] = (await admin.listBotVersions({ id: bot.id })).versions;
      const { url } = await admin.getBotVersion({ id: bot.id, versionId: version!.id });
      const answer = await fetch(url);
      expect(answer.headers.get('content-type')).toMatch(/^text\/javascript/);
      expect((await answer.text()) === code).toBe(true);
    });

    it('refuses a body over the limit with its size, and keeps serving', async () => {
      const creation = admin.createBot({ name: 'too large', code: 'x'.repeat(70_000_000) });

      await expect(creation).rejects.toMatchObject({
        type: 'PayloadTooLarge',
        message: expect.stringContaining('32000000 bytes; the field code') as string,
      });
      await expect(admin.listBots({})).resolves.toHaveProperty('bots');
    });

    it('deploys code that cannot be loaded, and tells why by a warning and an issue', async () => {
      const { botId } = await newBot();
      const failure = expect.stringContaining('Error: no license') as string;

      const { status, headers } = await sendTo(platform.url, `PUT /v1/admin/bots/${botId}`, {
        headers: { authorization: `Bearer ${platform.token}`, 'x-workspace-id': platform.workspaceId },
        json: { code: `throw new Error('no license')` },
      });

      expect({ status, headers }).toMatchObject({ status: 200, headers: { [warningHeader]: failure } });
      const { issues } = await waitFor(
        () => admin.listBotIssues({ id: botId }),
        (found) => found.issues.length > 0,
      );
      expect(issues).toMatchObject([{ code: 'code_not_loadable', description: failure }]);
    });

    it('hides a file from another bot', async () => {
      const [mine, other] = await Promise.all([newBot(), newBot()]);
      const { file } = await mine.client.uploadFile({ key: 'mine.txt', content: 'secret' });

      await expect(other.client.getFile({ id: file.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      await expect(other.client.deleteFile({ id: file.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      await expect(other.client.listFilePassages({ id: file.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    });

    it('lets a bot key act as its bot until it is revoked', async () => {
      const { botId } = await newBot();
      const key = await admin.createBotApiKey({ botId, note: 'back end' });
      const asBot = clientOf({ ...platform, token: key.value }, botId);
      await asBot.uploadFile({ key: 'a.txt', content: 'a' });

      await admin.deleteBotApiKey({ id: key.id });

      const refused = () =>
        asBot.listFiles({}).then(
          () => false,
          (error: { type: string }) => error.type === 'Unauthorized',
        );
      expect(await waitFor(refused)).toBe(true);
    });

    it('erases everything of a deleted bot', async () => {
      const { botId, client } = await newBot();
      const { file } = await client.uploadFile({ key: 'tea.html', content: page, index: true });
      await indexed(client, file.id);
      const { table } = await client.createTable({
        name: 'tea',
        schema: { type: 'object', properties: { leaf: { type: 'string' } } },
      });
      await client.createTableRows({ table: table.id, rows: [{ leaf: 'green' }] });
      await client.createConversation({ channel: 'channel', tags: { drink: 'tea' } });

      await admin.deleteBot({ id: botId });

      const leftovers = () =>
        Promise.resolve(JSON.parse(parley(platform, 'bot', 'leftovers', botId).stdout) as Record<string, number>);
      const left = await waitFor(leftovers, (counts) => Object.values(counts).every((count) => count === 0));
      expect(Object.keys(left)).toEqual(
        expect.arrayContaining(['files', 'passages', 'blobs', 'points', 'tables', 'rows', 'conversations', 'messages']),
      );
      await expect(client.listFiles({})).rejects.toMatchObject({ type: 'Forbidden' });
    });

    it('creates accounts and tokens by CLI commands', async () => {
      const email = `${randomBytes(4).toString('hex')}@example.com`;

      const account = parley(platform, 'account', 'create', email);
      const token = parley(platform, 'token', 'create', email).stdout.trim();

      const { workspaceId } = JSON.parse(account.stdout) as { workspaceId: string };
      const { bot } = await clientOf({ ...platform, token, workspaceId }).createBot({ name: 'theirs' });
      await expect(admin.getBot({ id: bot.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      expect(parley(platform, 'account', 'create', email)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('AlreadyExists') as string,
      });
    });

    it('lets the operator publish interfaces under built-in names, and no other workspace', async () => {
      const [name, version] = ['hitl', '2.1.0'];
      const { id: workspaceId } = await admin.createWorkspace({ name: 'Others' });
      const others = clientOf({ ...platform, workspaceId });

      const { interface: published } = await admin.createInterface({ name, version, public: true });
      const { integration } = await others.createIntegration({
        name: 'desk',
        version: '1.0.0',
        interfaces: { hitl: { id: published.id, entities: {}, actions: {}, events: {}, channels: {} } },
      });
      const ofOthers = { name: 'listable', version: '0.0.3', public: true };

      expect(integration.interfaces).toMatchObject({ hitl: { name, version } });
      expect(await others.getPublicInterface({ name, version: 'latest' })).toEqual({ interface: published });
      await expect(others.createInterface(ofOthers)).rejects.toMatchObject({ type: 'AlreadyExists' });
    });

    it('returns 404 for an operation that is not implemented', async () => {
      await expect(admin.listActivities({ botId: 'x', taskId: 'x' })).rejects.toMatchObject({
        type: 'ResourceNotFound',
      });
    });

    describeBots(() => platform);
    describeHandover(() => platform);
    describeChat(() => platform);
    describeFiles(() => platform);
    describeTables(() => platform);

    it('accepts WebSocket handshakes for listen streams only', async () => {
      const headers = { connection: 'Upgrade', upgrade: 'websocket' };
      const [elsewhere, withoutKey] = await Promise.all(
        ['/v1/files', '/chat/hook/conversations/a/listen'].map((path) =>
          sendTo(platform.url, `GET ${path}`, { headers }),
        ),
      );

      expect(elsewhere).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
      expect(withoutKey).toMatchObject({ status: 401, json: { type: 'Unauthorized' } });
    });

    describe('every operation', () => {
      let methods: Map<string, string>;
      let tenant: Tenant;

      beforeAll(async () => {
        methods = await clientMethods();
        tenant = await Tenant.create({ url: platform.url, operatorToken: operatorToken(platform.secretKey) });
      }, 60_000);

      it('names each operation as the public client does, with a request for it', () => {
        const strange = publicOperations.filter(({ route }) => !methods.has(anonymous(route!)));

        expect(strange.map(({ subject }) => subject)).toEqual([]);
        expect(disagreements()).toEqual([]);
      });

      it.each(publicOperations.map((operation) => [operation.subject, operation] as const))(
        'answers %s of the public client as declared',
        async (_subject, operation) => {
          const { path, query, body, headers, as } = await requestOf(operation, tenant);
          const props = { apiUrl: platform.url, ...(as ?? senderOf(operation, tenant)), headers };

          const answer = await call(props, methods.get(anonymous(operation.route!))!, { ...path, ...query, ...body });

          expect(undeclared(operation, answer)).toEqual([]);
        },
      );

      it.each(ownOperations.map((operation) => [operation.subject, operation] as const))(
        'answers %s, which the public client has not, as declared',
        async (_subject, operation) => {
          const request = await requestOf(operation, tenant);

          const answer = await ask(platform.url, operation, senderOf(operation, tenant), request);

          expect(answer.status).toBe(operation.status);
          expect(brokenPromises(operation, answer)).toEqual([]);
        },
      );

      it('serves a generated picture at the address that it answers', async () => {
        const answer = await ask(
          platform.url,
          models.media.generateImage,
          senderOf(models.media.generateImage, tenant),
          {
            body: { prompt: 'a cat' },
          },
        );

        const content = await fetch(answer.json.output.imageUrl as string);
        expect({ status: content.status, type: content.headers.get('content-type') }).toEqual({
          status: 200,
          type: 'image/png',
        });
      });

      it.each(chatOperations.map((operation) => [operation.subject, operation] as const))(
        'answers %s of the public chat client as declared',
        async (subject, operation) => {
          const { path, query, body, headers } = await requestOf(operation, tenant);
          const { webhookId, ...parameters } = path!;
          const input = { 'x-user-key': tenant.has.userKey, ...headers, ...parameters, ...query, ...body };

          const answer = await callChat(`${platform.url}/chat/${webhookId}`, subject.split('.').at(-1)!, input);

          expect(undeclared(operation, answer)).toEqual([]);
        },
      );
    });
  });
}
