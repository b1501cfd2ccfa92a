import type { ServiceSchema } from '@parley/persistence/service-schema';
import { WorkFailures1796900000000 } from '@parley/work-queue/migrations/1796900000000-work-failures';
import { WorkEntity } from '@parley/work-queue/work.entity';
import { DeliveriesAsWork1796000000000 } from './migrations/1796000000000-deliveries-as-work';
import { Events1795392000000 } from './migrations/1795392000000-events';

/** Schema of the event stream in embedded mode. */
export const eventsSchema: ServiceSchema = {
  schema: 'events',
  migrations: [Events1795392000000, DeliveriesAsWork1796000000000, WorkFailures1796900000000],
  entities: [WorkEntity],
};
