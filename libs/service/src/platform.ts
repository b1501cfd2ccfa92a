import type { EventStream } from '@parley/bus/event-stream';
import type { Transport } from '@parley/bus/transport';
import type { Logger } from '@parley/logging/logger';
import type { Metrics } from './metrics';

/** What differs between the run modes, handed to every app's module: nothing else in the code asks for the mode. */
export interface Platform {
  transport: Transport;
  events: EventStream;
  logger: Logger;
  metrics: Metrics;
  /** Brings the schema up to date at start; otherwise a schema that is behind stops the start. */
  migrateAtStart: boolean;
  /** Name of this process in rows that say who works on something. The same after a restart only where it runs alone. */
  instance: string;
}
