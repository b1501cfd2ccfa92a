import type { Broadcast, Consumer, Contract } from '@parley/contracts/operation';
import type { WorkAdded } from '@parley/contracts/work';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { ServiceConfig } from './config';

export interface ServiceOptions {
  name: string;
  contract: Contract;
  /** Consumers that must have a handler. */
  consumers?: Consumer[];
  database: ServiceSchema & { config: ServiceConfig };
  /** Wakes the workers of other processes. For services with the table `work`. */
  workAdded?: Broadcast<WorkAdded>;
}
