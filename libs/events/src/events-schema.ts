import type { ServiceSchema } from '@parley/persistence/service-schema';
import { DeliveryEntity } from './delivery.entity';
import { Events1795392000000 } from './migrations/1795392000000-events';

/** Schema of the event stream in embedded mode. */
export const eventsSchema: ServiceSchema = {
  schema: 'events',
  migrations: [Events1795392000000],
  entities: [DeliveryEntity],
};
