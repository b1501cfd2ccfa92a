import type { DynamicModule } from '@nestjs/common';
import { InProcessDriver } from '@parley/transport/in-process-driver';
import { Database } from '@parley/persistence/database';
import { createLogger } from '@parley/logging/logger';
import { eventsSchema } from '@parley/events/events-schema';
import { PostgresEvents } from '@parley/events/postgres-events';
import { createHybridApp } from '@parley/service/hybrid-app';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import type { RunningService } from './running-service';

/** Starts a further process of the service, simulated in this process: it shares database and bus of a running service. */
export async function joinService(
  { databaseUrl, hub }: Pick<RunningService, 'databaseUrl' | 'hub'>,
  instance: string,
  module: (platform: Platform) => DynamicModule,
): Promise<{ stop(): Promise<void> }> {
  const logger = createLogger('test', 'silent');
  const database = await Database.open({
    url: databaseUrl,
    ...eventsSchema,
    poolSize: 3,
  });
  const events = new PostgresEvents(database, logger);
  const driver = new InProcessDriver(hub, 64_000_000, logger);
  const platform = {
    driver,
    events,
    logger,
    metrics: new Metrics(),
    migrateAtStart: true,
    instance,
    isOnlyProcess: false,
  };
  const app = await createHybridApp(module(platform), logger);
  await events.open();
  return {
    stop: async () => {
      await app.close();
      await database.close();
    },
  };
}
