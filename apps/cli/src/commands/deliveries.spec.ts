import type { Platform } from '@parley/service/platform';
import { json, LoopbackServer, type RequestHandler } from '@parley/testing/loopback-server';
import { type AdminSettings, newAccount, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeModule } from '../../../runtime/src/runtime.module';
import { runCommand } from '../program';

const chat = {
  register: (settings: AdminSettings, platform: Platform) =>
    ChatModule.register({ ...settings, sweepIntervalMs: 5_000, listTimeoutMs: 5_000 }, platform),
};
const runtime = {
  register: (settings: AdminSettings, platform: Platform) =>
    RuntimeModule.register(
      {
        ...settings,
        webhooksPerInstallation: 50,
        actionsPerBot: 10,
        deliveriesConcurrency: 10,
        deliveriesPerBot: 10,
        deliveriesPerBotPerSecond: 100,
        deliveriesWaitingPerBot: 10_000,
        deliveryRetentionDays: 1,
        logRetentionDays: 1,
      },
      platform,
    ),
};

const works = json({});
const refuses = json({ message: 'I cannot.' }, 400);
const environment = { ...process.env };

let answer: RequestHandler;
let bot: LoopbackServer;
let api: PublicApi;

beforeAll(async () => {
  bot = await LoopbackServer.start((request, response) => answer(request, response));
  api = await startPublicApi(GatewayModule, AdminModule, HubModule, chat, runtime);
  process.env['PARLEY_URL'] = api.url;
  process.env['PARLEY_SECRET_KEY'] = api.settings.secretKey;
});

afterAll(async () => {
  process.env = environment;
  await api?.stop();
  await bot?.close();
});

async function run(...line: string[]) {
  let output = '';
  let errors = '';
  const status = await runCommand(
    line,
    (text) => (output += text),
    (text) => (errors += text),
  );
  return { status, errors, result: (output && JSON.parse(output)) as never };
}

/** New bot with one event that was delivered. */
async function deliver(): Promise<{ botId: string; eventId: string }> {
  const { token, workspaceId, client } = await newAccount(api.url, api.operatorToken);
  const { id: botId } = (await client.createBot({ url: bot.url })).bot;
  const ofBot = api.client(token, workspaceId, botId);
  const { event } = await ofBot.createEvent({ type: 'rang', payload: {} });
  await settled(botId, event.id);
  return { botId, eventId: event.id };
}

/** Chat notes the outcome of a delivery, after which it can be replayed, a moment after the runtime. */
function replayed(...which: string[]) {
  return waitFor(
    () => run('deliveries', 'replay', ...which),
    ({ result }: { result: { replayed?: number } }) => result.replayed === 1,
  );
}

function settled(botId: string, eventId: string, attempts = 1) {
  return waitFor(
    () => run('deliveries', 'show', botId, eventId),
    ({ status, result }: { status: number; result: { settledAt?: string; attempts: unknown[] } }) =>
      status === 0 && result.settledAt !== undefined && result.attempts.length === attempts,
  );
}

it('lists the deliveries of a bot by status, and shows the attempts of one', async () => {
  answer = refuses;
  const { botId, eventId } = await deliver();

  const listed = await run('deliveries', 'list', botId, '--status', 'failed');
  const shown = await run('deliveries', 'show', botId, eventId);

  const delivery = { botId, eventId, type: 'rang', status: 'failed', reason: 'I cannot.' };
  expect(listed).toMatchObject({ status: 0, errors: '', result: [{ ...delivery, attempts: 1 }] });
  expect(shown).toMatchObject({
    status: 0,
    result: { ...delivery, attempts: [{ status: 400, error: 'I cannot.', durationMs: expect.any(Number) }] },
  });
  expect(await run('deliveries', 'list', botId, '--status', 'processed')).toMatchObject({ result: [] });
  expect(await run('deliveries', 'show', botId, 'evt_none')).toEqual({
    status: 1,
    result: '',
    errors: 'Delivery of the event "evt_none" not found. Deliveries are deleted after DELIVERY_RETENTION_DAYS.\n',
  });
});

it('calls the bot without an event', async () => {
  answer = works;
  const { botId } = await deliver();

  const reached = await run('bot', 'ping', botId);
  answer = refuses;
  const refused = await run('bot', 'ping', botId);

  expect(reached).toMatchObject({ status: 0, result: { status: 200, error: null } });
  expect(refused).toMatchObject({
    status: 1,
    result: { status: 400, error: 'I cannot.' },
    errors: 'The bot did not answer with success: I cannot.\n',
  });
});

describe('an integration', () => {
  let botId: string;
  let webhookUrl: string;

  beforeAll(async () => {
    answer = works;
    const { client } = await newAccount(api.url, api.operatorToken);
    const { integration } = await client.createIntegration({ name: 'line', version: '1.0.0', url: bot.url });
    const created = (await client.createBot({ url: bot.url })).bot;
    const installed = await client.updateBot({
      id: created.id,
      integrations: { line: { integrationId: integration.id, enabled: true } },
    });
    botId = created.id;
    webhookUrl = Object.values(installed.bot.integrations).find(({ name }) => name === 'line')!.webhookUrl;
  });

  it('registers an integration again, and exits with 1 where it refuses', async () => {
    answer = works;
    const registered = await run('bot', 'register', botId, 'line');
    answer = refuses;
    const refused = await run('bot', 'register', botId, 'line');

    expect(registered).toEqual({ status: 0, result: { status: 'registered', statusReason: null }, errors: '' });
    expect(refused).toMatchObject({
      status: 1,
      result: { status: 'registration_failed' },
      errors: expect.stringMatching(/^The integration is not registered: .*I cannot\.\n$/),
    });
  });

  it('sends a recorded request to an integration again, with a failure where it refuses', async () => {
    answer = works;
    await run('webhooks', 'record', botId, 'line');
    await fetch(`${api.url}${new URL(webhookUrl).pathname}`, { method: 'POST', body: 'rang' });
    const { result } = await waitFor(
      () => run('webhooks', 'list', botId, 'line'),
      (listed: { result: { id: string }[] }) => listed.result.length > 0,
    );
    const { id } = (result as { id: string }[])[0]!;

    const taken = await run('webhooks', 'replay', botId, 'line', id);
    answer = refuses;
    const refused = await run('webhooks', 'replay', botId, 'line', id);

    expect(taken).toMatchObject({ status: 0, errors: '' });
    expect(refused).toMatchObject({ status: 1, errors: 'The integration answered with the status 400.\n' });
  });
});

it('delivers one event again, and all that failed', async () => {
  answer = refuses;
  const { botId, eventId } = await deliver();

  expect(await run('deliveries', 'replay', botId, '--all-ignored')).toMatchObject({ result: { replayed: 0 } });
  await replayed(botId, '--all-failed');
  await settled(botId, eventId, 2);
  answer = works;
  await replayed(botId, eventId);
  await settled(botId, eventId, 3);

  expect(await run('deliveries', 'show', botId, eventId)).toMatchObject({
    result: { status: 'processed', attempts: [{ status: 400 }, { status: 400 }, { status: 200 }] },
  });
  expect(await run('deliveries', 'replay', botId, 'evt_none')).toMatchObject({
    status: 1,
    errors: expect.stringContaining('evt_none'),
  });
});
