import { json, LoopbackServer, type RequestHandler } from '@parley/testing/loopback-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

const deliveriesConcurrency = 8;

let api: PublicApi;
const servers: LoopbackServer[] = [];

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig, { deliveriesConcurrency }),
  );
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await api?.stop();
});

async function newBot({ client, token, workspaceId }: Account, answer: RequestHandler) {
  const server = await LoopbackServer.start((request, response) =>
    (request.headers['x-bp-operation'] === 'event_received' ? answer : json({}))(request, response),
  );
  servers.push(server);
  const { bot } = await client.createBot({ url: server.url });
  await waitFor(() => server.requests.length > 0);
  const events = () => server.requests.filter(({ headers: { 'x-bp-operation': kind } }) => kind === 'event_received');
  return { client: api.client(token, workspaceId, bot.id), events };
}

it('leaves slots to other workspaces while bots of one hang, which get the rest of their events later', async () => {
  const [hostile, healthy] = await Promise.all([api.newAccount(), api.newAccount()]);
  const pending: (() => void)[] = [];
  const hang: RequestHandler = (request, response) => {
    pending.push(() => void json({})(request, response));
  };
  const hanging = await Promise.all([1, 2, 3].map(() => newBot(hostile, hang)));
  const quick = await newBot(healthy, json({}));
  const count = 20;
  await Promise.all(
    hanging.flatMap(({ client }) =>
      Array.from({ length: count }, () => client.createEvent({ type: 'happened', payload: {} })),
    ),
  );
  await waitFor(() => pending.length === deliveriesConcurrency / 2);

  for (let number = 1; number <= 5; number += 1) {
    await quick.client.createEvent({ type: 'happened', payload: {} });
    await waitFor(() => quick.events().length === number);
  }

  expect(pending).toHaveLength(deliveriesConcurrency / 2);
  for (let answered = 0; answered < hanging.length * count; answered += 1) {
    await waitFor(() => pending.length > answered);
    pending[answered]!();
  }
  expect(hanging.map(({ events }) => events().length)).toEqual([count, count, count]);
});
