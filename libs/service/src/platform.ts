import type { EventStream } from '@parley/transport/event-stream';
import type { Driver } from '@parley/transport/driver';
import type { Logger } from '@parley/logging/logger';
import type { ShownWork } from '@parley/work-queue/work.service';
import type { Metrics } from './metrics';

/** Dependencies that differ between the run modes. No other code depends on the mode. */
export interface Platform {
  driver: Driver;
  events: EventStream;
  /** Deliveries of events as background work. Absent where the stream is that of NATS. */
  deliveries?: ShownWork;
  logger: Logger;
  metrics: Metrics;
  /** Migrates the schema at start. Otherwise pending migrations stop the start. */
  migrateAtStart: boolean;
  /** Name of this process in lease rows. Stable over restarts only where one process runs alone. */
  instance: string;
  /** True if no other process works on the database: leases of the last run can be ended at the start. */
  isOnlyProcess: boolean;
  /** Resolves when the whole process has started: before, waits for the database are longer. Absent: no such difference. */
  started?: Promise<void>;
}
