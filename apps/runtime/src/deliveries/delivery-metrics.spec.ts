import { LoopbackServer } from '@parley/testing/loopback-server';
import { type AdminSettings, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

const chat = {
  register: (settings: AdminSettings, platform: Platform) =>
    ChatModule.register({ ...settings, sweepIntervalMs: 5_000, listTimeoutMs: 5_000 }, platform),
};

let server: LoopbackServer;
let api: PublicApi;

beforeAll(async () => {
  // Answers with the statuses in the type of the event, one for each attempt.
  server = await LoopbackServer.start(({ headers }, response) => {
    const statuses = String(headers['x-bp-type']).match(/\d+/g) ?? ['200'];
    response.writeHead(Number(statuses[Number(headers['x-bp-attempt']) - 1])).end('{}');
  });
  api = await startPublicApi(GatewayModule, AdminModule, HubModule, chat, configured(RuntimeModule, RuntimeConfig));
});

afterAll(async () => {
  await api?.stop();
  await server?.close();
});

/** Sends the events to a new bot with this url. */
async function send(url: string, ...types: string[]): Promise<void> {
  const { token, workspaceId, client } = await api.newAccount();
  const { id } = (await client.createBot({ url })).bot;
  for (const type of types) await api.client(token, workspaceId, id).createEvent({ type, payload: {} });
}

/** Counts by outcome. */
async function countsOf(metric: string): Promise<Record<string, number>> {
  const { metrics } = api.apps.at(-1)!.get<Platform>(platformToken, { strict: false });
  const lines = (await metrics.registry.metrics()).matchAll(
    new RegExp(`^${metric}\\{outcome="([^"]+)"\\} (\\d+)$`, 'gm'),
  );
  return Object.fromEntries([...lines].map(([, outcome, count]) => [outcome, Number(count)]));
}

it('counts deliveries and calls by their outcome', async () => {
  await send(server.url, 'answers 200', 'answers 200', 'answers 400', 'answers 500 then 200');
  await send('http://169.254.169.254/', 'answers nothing');

  const delivered = await waitFor(
    () => countsOf('parley_deliveries_total'),
    ({ processed, failed, parked }) => processed === 3 && failed === 1 && parked === 1,
  );
  expect(delivered).toEqual({ processed: 3, failed: 1, repeated: 1, parked: 1 });
  expect(await countsOf('parley_bot_call_seconds_count')).toEqual({ processed: 3, failed: 1, repeated: 1 });
});
