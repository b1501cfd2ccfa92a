import { TunnelTail } from '@bpinternal/tunnel';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { systemCaller } from '@parley/contracts/caller';
import { tunnelFailureOf, tunnelRequest } from '@parley/contracts/tunnel';
import { createLogger } from '@parley/logging/logger';
import { tunnelKey } from '@parley/secrets/tunnel-key';
import { NatsConfig } from '@parley/service/config';
import { createHybridApp } from '@parley/service/hybrid-app';
import { connectPlatform } from '@parley/service/run';
import { freePort } from '@parley/testing/free-port';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { ParleyClient } from '@parley/transport/parley-client';
import { GatewayConfig } from '../config';
import { GatewayModule } from '../gateway.module';
import { closeCodes } from './tunnel';

const suite = hasNatsServer() ? describe : describe.skip;
const logger = createLogger('test', 'silent');

let server: NatsServer;
let apps: NestFastifyApplication[] = [];
let urls: string[];

/** Two gateways, each with its own NATS connection like separate processes. */
beforeEach(async () => {
  server = await NatsServer.start();
  const nats = Object.assign(new NatsConfig(), { natsUrl: server.url });
  const ports = [await freePort(), await freePort()];
  urls = ports.map((port) => `ws://127.0.0.1:${port}`);
  apps = await Promise.all(
    ports.map(async (tunnelPort) => {
      const platform = await connectPlatform('gateway', nats, 64_000_000, logger);
      const config = Object.assign(new GatewayConfig(), { tunnelPort, tunnelUrl: 'http://tunnel.test' });
      return createHybridApp(GatewayModule.register(config, platform), logger);
    }),
  );
});

afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()));
  await server.stop();
});

async function dial(index: number): Promise<TunnelTail> {
  const tail = await TunnelTail.new(urls[index]!, 'tunnel-1');
  tail.events.on('request', ({ id, body }) => tail.send({ requestId: id, status: 200, body }));
  return tail;
}

function request(index: number, body: string) {
  const client = apps[index]!.get(ParleyClient, { strict: false });
  const input = { method: 'POST', path: '/', headers: {}, body };
  return client.callInstance(tunnelRequest, tunnelKey('tunnel-1'), systemCaller('request-1'), input);
}

suite('Tunnels of several gateways', () => {
  it('keeps one client for each tunnel id, reached from every process with small and large bodies', async () => {
    await dial(0);
    const second = await dial(1);
    const code = await new Promise((resolve) => second.events.once('close', (event) => resolve(event.code)));

    expect(code).toBe(closeCodes.idInUse);
    expect(await request(1, 'small')).toEqual({ status: 200, headers: {}, body: 'small' });
    expect((await request(1, 'x'.repeat(4_900_000))).body).toHaveLength(4_900_000);
  });

  it('moves tunnels to another process when theirs stops', async () => {
    const first = await dial(0);
    const closed = new Promise((resolve) => first.events.once('close', (event) => resolve(event.code)));

    await apps[0]!.close();
    expect(await closed).toBe(closeCodes.goingAway);
    expect(tunnelFailureOf(await request(1, '').catch((error: unknown) => error))).toBe('not connected');
    await dial(1);

    expect(await waitFor(() => request(1, 'again'))).toMatchObject({ body: 'again' });
  });
});
