import type { Provider } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { WorkAdded } from '@parley/contracts/work';
import { Database } from '@parley/persistence/database';
import { ParleyClient } from '@parley/transport/parley-client';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { WorkRepository } from '@parley/work-queue/work.repository';
import { WorkRunner } from '@parley/work-queue/work-runner';
import { WorkService } from '@parley/work-queue/work.service';
import type { Platform } from './platform';
import type { ServiceOptions } from './service-options';
import { measureWork } from './work-metrics';

/** Time in which wake-ups of other processes are collected into one message. */
const collectMs = 20;

/** Providers of background work: queues, if the service has them, and periodic tasks. */
export function backgroundProviders(options: ServiceOptions, platform: Platform): Provider[] {
  return [
    { provide: WorkRepository, useFactory: (database: Database) => new WorkRepository(database), inject: [Database] },
    WorkQueue,
    {
      provide: WorkService,
      useFactory: (rows: WorkRepository, work: WorkQueue, tasks: BackgroundTasks) => {
        const own = options.workAdded ? [{ rows, wake: (queue: string) => work.wake(queue) }] : [];
        const deliveries = platform.deliveries ? [platform.deliveries] : [];
        return new WorkService(options.database.schema, [...own, ...deliveries], tasks);
      },
      inject: [WorkRepository, WorkQueue, BackgroundTasks],
    },
    {
      provide: BackgroundTasks,
      useFactory: (
        discovery: DiscoveryService,
        scanner: MetadataScanner,
        repository: WorkRepository,
        work: WorkQueue,
        client: ParleyClient,
        database: Database,
      ) => {
        const runner = options.workAdded && startableRunner(options, platform, repository, work, client);
        const tasks = new BackgroundTasks(discovery, scanner, platform.logger, database, runner);
        measureWork(platform.metrics, options.database.schema, async () => [
          ...(runner ? await repository.measureDepth() : []),
          ...(await tasks.measureLate()),
        ]);
        return tasks;
      },
      inject: [DiscoveryService, MetadataScanner, WorkRepository, WorkQueue, ParleyClient, Database],
    },
  ];
}

function startableRunner(
  { database: { schema }, workAdded }: ServiceOptions,
  { instance, isOnlyProcess, logger, metrics, driver }: Platform,
  repository: WorkRepository,
  work: WorkQueue,
  client: ParleyClient,
): WorkRunner {
  const runner = new WorkRunner(repository, {
    worker: instance,
    isOnlyWorker: isOnlyProcess,
    logger,
    onAttemptEnded: (queue, end) => metrics.countAttempt(schema, queue, end),
  });
  const tell = collected((queues) => client.broadcast(workAdded!, { from: instance, queues }));
  work.onAdded((queue, dueAt) => {
    runner.wake(queue, dueAt);
    // Others find work with a due time in their next poll.
    if (!dueAt && !isOnlyProcess) tell(queue);
  });
  client.listen(workAdded!, ({ from, queues }: WorkAdded) => {
    if (from !== instance) queues.forEach((queue) => runner.wake(queue));
  });
  driver.onReconnected(() => runner.wakeAll());
  return runner;
}

/** Collects names for a short time, so that a burst of work sends few messages. */
function collected(send: (names: string[]) => void): (name: string) => void {
  let names: Set<string> | undefined;
  return (name) => {
    if (names) return void names.add(name);
    const collecting = (names = new Set([name]));
    setTimeout(() => {
      names = undefined;
      send([...collecting]);
    }, collectMs).unref();
  };
}
