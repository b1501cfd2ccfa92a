import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createLogger } from '@parley/logging/logger';
import { NatsConfig } from '@parley/service/config';
import { createHybridApp } from '@parley/service/hybrid-app';
import type { Platform } from '@parley/service/platform';
import { connectPlatform } from '@parley/service/run';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayConfig } from '../config';
import { GatewayModule } from '../gateway.module';
import { type Client, kinds, listen } from '../test/listening-client';
import { StandInChat, StandInChatModule } from '../test/stand-in-chat';

const suite = hasNatsServer() ? describe : describe.skip;
const logger = createLogger('test', 'silent');

let server: NatsServer;
let chat: StandInChat;
let apps: NestFastifyApplication[];
let platforms: Platform[];
let urls: string[];
const clients: Client[] = [];

/** Two gateways and a chat service, each with its own NATS connection like separate processes. */
beforeEach(async () => {
  server = await NatsServer.start();
  chat = new StandInChat();
  const nats = Object.assign(new NatsConfig(), { natsUrl: server.url });
  platforms = await Promise.all(
    ['chat', 'gateway', 'gateway'].map((name) => connectPlatform(name, nats, 64_000_000, logger)),
  );
  const config = Object.assign(new GatewayConfig(), { listenPingMs: 3_600_000, programPingMs: 3_600_000 });
  apps = await Promise.all([
    createHybridApp(StandInChatModule.register(chat, platforms[0]!), logger),
    createHybridApp(GatewayModule.register(config, platforms[1]!), logger),
    createHybridApp(GatewayModule.register(config, platforms[2]!), logger),
  ]);
  urls = await Promise.all(
    apps.slice(1).map(async (app) => {
      await app.listen(0, '127.0.0.1');
      return app.getUrl();
    }),
  );
  await platforms[0]!.driver.ready();
});

afterEach(async () => {
  clients.splice(0).forEach((client) => client.destroy());
  await Promise.all(apps.map((app) => app.close()));
  await server.stop();
});

const texts = ({ received }: Client) =>
  received.map((text) => (JSON.parse(text) as { data: { text: string } }).data.text);

async function listenEverywhere(options: Parameters<typeof listen>[2] = {}): Promise<Client[]> {
  const opened = await Promise.all(kinds.flatMap((kind) => urls.map((url) => listen(kind, url, options))));
  clients.push(...opened);
  return opened;
}

async function reconnected(): Promise<void> {
  await waitFor(async () => (await Promise.allSettled(platforms.map(({ driver }) => driver.ready()))).every(isDone));
}

const isDone = ({ status }: PromiseSettledResult<void>) => status === 'fulfilled';

suite('Streams on several gateways', () => {
  it('sends the same signals in the same order from several gateways', async () => {
    const streams = await listenEverywhere();
    const said = Array.from({ length: 500 }, (_, index) => String(index));

    chat.say('conv_1', ...said);

    await waitFor(() => streams.every(({ received }) => received.length === 500));
    expect(streams.map(texts)).toEqual(streams.map(() => said));
  });

  it('resumes streams without a gap after NATS was down, and closes those of users removed meanwhile', async () => {
    const [streams, removed] = await Promise.all([listenEverywhere(), listenEverywhere({ key: 'bob' })]);
    chat.say('conv_1', 'before');
    await waitFor(() => [...streams, ...removed].every(({ received }) => received.length === 1));

    await server.kill();
    await waitFor(async () => (await Promise.allSettled([platforms[1]!.driver.ready()])).every((one) => !isDone(one)));
    chat.record('conv_1', 'meanwhile');
    chat.remove('conv_1', 'bob');
    chat.record('conv_1', 'after bob');
    await server.run();
    await reconnected();

    await waitFor(() => streams.every(({ received }) => received.length === 4));
    await waitFor(() => removed.every(({ isClosed }) => isClosed));
    chat.say('conv_1', 'again');
    await waitFor(() => streams.every(({ received }) => received.length === 5));
    expect(streams.map(texts)).toEqual(streams.map(() => ['before', 'meanwhile', 'bob left', 'after bob', 'again']));
    expect(removed.map(texts)).toEqual(removed.map(() => ['before', 'meanwhile']));
  });

  it('rejects streams with 429 while NATS is down', async () => {
    await server.kill();
    await waitFor(async () => (await Promise.allSettled([platforms[1]!.driver.ready()])).every((one) => !isDone(one)));

    const refused = await Promise.all(kinds.map((kind) => listen(kind, urls[0]!)));

    refused.forEach((client) => expect(client).toMatchObject({ status: 429, headers: { 'retry-after': '1' } }));
    await server.run();
    await reconnected();
  });

  it('keeps streams open after invalid signals', async () => {
    const streams = await listenEverywhere();
    const { questions } = chat;

    for (const body of ['', 'x', 'null', '7', '{}', '{"number":"x","frame":""}', '{"number":1,"frame":7}']) {
      platforms[0]!.driver.broadcast('channel.chat.signals.conv_1', { head: '', body });
    }
    chat.say('conv_1', 'after');

    await waitFor(() => streams.every(({ received }) => received.length === 1));
    expect(streams.map(texts)).toEqual(streams.map(() => ['after']));
    expect(chat.questions).toBe(questions);
  });
});
