import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ParleyClient } from '@parley/transport/parley-client';
import { InProcessHub, InProcessDriver } from '@parley/transport/in-process-driver';
import type { Caller } from '@parley/contracts/caller';
import type { Operation } from '@parley/contracts/operation';
import { Database } from '@parley/persistence/database';
import { createLogger, type LogLevel } from '@parley/logging/logger';
import { eventsSchema } from '@parley/events/events-schema';
import { PostgresEvents } from '@parley/events/postgres-events';
import { createHybridApp } from '@parley/service/hybrid-app';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { freePort } from './free-port';
import { createPlatformDatabase } from './test-database';

/** One or more apps in this process, connected as in embedded mode, on their own database. */
export interface RunningService {
  databaseUrl: string;
  apps: NestFastifyApplication[];
  /** HTTP address of the first app. */
  url: string;
  hub: InProcessHub;
  call<I, O>(operation: Operation<I, O>, caller: Caller, input: I): Promise<O>;
  stop(): Promise<void>;
}

/** Shared by all services: each logger has a timer that flushes ten times a second. */
const logger = createLogger('test', (process.env['LOG_LEVEL'] as LogLevel | undefined) ?? 'silent');

type ServiceModules = ((databaseUrl: string, platform: Platform, url: string) => DynamicModule)[];

/** Starts the real modules. Each gets the database URL and its own platform on the shared bus. */
export async function startService(...modules: ServiceModules): Promise<RunningService> {
  const { url, drop } = await createPlatformDatabase();
  const service = await startServiceOn(url, ...modules);
  return {
    ...service,
    stop: async () => {
      await service.stop();
      await drop();
    },
  };
}

/** Like `startService`, but on a database that stays for the next start. A failed start closes everything again. */
export async function startServiceOn(databaseUrl: string, ...modules: ServiceModules): Promise<RunningService> {
  const eventsDatabase = await Database.open({
    url: databaseUrl,
    ...eventsSchema,
    poolSize: 3,
  });
  await eventsDatabase.migrate();
  const events = new PostgresEvents(eventsDatabase, logger);
  const hub = new InProcessHub();
  const platform = (): Platform => ({
    driver: new InProcessDriver(hub, 64_000_000, logger),
    events,
    deliveries: events.deliveries,
    logger,
    // No caching: tests read metrics right after they change.
    metrics: new Metrics(0),
    migrateAtStart: true,
    instance: 'test',
    isOnlyProcess: false,
  });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const starts = await Promise.allSettled(
    modules.map((module) => createHybridApp(module(databaseUrl, platform(), url), logger)),
  );
  const apps = starts.flatMap((start) => (start.status === 'fulfilled' ? start.value : []));
  const failure = starts.find((start) => start.status === 'rejected');
  if (failure) {
    await Promise.all(apps.map((app) => app.close()));
    await eventsDatabase.close();
    throw failure.reason;
  }
  await events.open();
  await apps[0]?.listen(port, '127.0.0.1');
  const client = new ParleyClient(platform().driver);
  return {
    databaseUrl,
    apps,
    url,
    hub,
    call: (operation, caller, input) => client.call(operation, caller, input),
    stop: async () => {
      await Promise.all(apps.map((app) => app.close()));
      await eventsDatabase.close();
    },
  };
}
