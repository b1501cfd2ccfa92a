import { type DynamicModule, Module } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { BreakableLink } from '@parley/testing/breakable-link';
import { sendTo } from '@parley/testing/public-api';
import { type RunningService, startServiceOn } from '@parley/testing/running-service';
import { createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { plainSchema } from '@parley/testing/plain-schema';
import pino from 'pino';
import { ServiceConfig } from './config';
import { Readiness } from './health.controller';
import type { Platform } from './platform';
import { ServiceModule } from './service.module';

const poolSize = 2;

@Module({})
class ProbeModule {
  static register(databaseUrl: string, platform: Platform): DynamicModule {
    const config = Object.assign(new ServiceConfig(), { databaseUrl, databasePoolSize: poolSize });
    const database = { ...plainSchema('probe'), config };
    return {
      module: ProbeModule,
      imports: [ServiceModule.register({ name: 'probe', contract: {}, database }, platform)],
    };
  }
}

it('reports not ready before the whole process has started', async () => {
  let hasStarted!: () => void;
  const started = new Promise<void>((resolve) => (hasStarted = resolve));
  const readiness = new Readiness([], { logger: pino({ enabled: false }), started } as unknown as Platform);

  const before = await readiness.problems();
  hasStarted();
  await started;

  expect(before).toEqual({ process: 'is starting' });
  expect(await readiness.problems()).toEqual({});
});

describe('readiness that many ask for', () => {
  it('checks readiness once for all who ask before it begins, and again for those who ask later', async () => {
    let begun = 0;
    let answer!: () => void;
    const check = () => {
      begun += 1;
      return new Promise<void>((resolve) => (answer = resolve));
    };
    const logger = pino({ enabled: false });
    const readiness = new Readiness([{ name: 'slow', check }], { logger } as unknown as Platform);

    const first = Promise.all(Array.from({ length: 50 }, () => readiness.problems()));
    await waitFor(() => begun === 1);
    const second = Promise.all(Array.from({ length: 50 }, () => readiness.problems()));
    answer();
    await first;
    await waitFor(() => begun === 2);
    answer();

    expect(await second).toEqual(Array.from({ length: 50 }, () => ({})));
    expect(begun).toBe(2);
  });
});

describe('a service whose connection pool is exhausted by slow statements', () => {
  let empty: EmptyDatabase;
  let link: BreakableLink;
  let service: RunningService;
  let database: Database;
  let letGo: () => void;
  let held: Promise<unknown>;

  beforeAll(async () => {
    empty = await createEmptyDatabase();
    link = await BreakableLink.to(empty.url);
    service = await startServiceOn(empty.url, (_, platform) => ProbeModule.register(link.url, platform));
    database = service.apps[0]!.get(Database, { strict: false });
    const released = new Promise<void>((resolve) => (letGo = resolve));
    held = Promise.all(Array.from({ length: poolSize }, () => database.transaction(() => released)));
    await waitFor(() => database.use.inUse === poolSize && database.use.idle === 0);
  });

  afterAll(async () => {
    link.state = 'carries';
    letGo();
    await held;
    await service.stop();
    await link.stop();
    await empty.drop();
  });

  it('reports ready while Postgres responds, without waiting for a pooled connection', async () => {
    const waiting = database.query('SELECT 1').catch(() => undefined);
    await waitFor(() => database.use.waiting > 0);

    expect(await sendTo(service.url, 'GET /readyz')).toMatchObject({ status: 200, json: { status: 'ready' } });

    await waiting;
  });

  it('reports not ready while Postgres does not respond', async () => {
    link.state = 'swallows everything';

    const answer = await sendTo(service.url, 'GET /readyz');

    expect(answer).toMatchObject({ status: 503, json: { status: 'not ready', waitingFor: ['database'] } });
  });
});
