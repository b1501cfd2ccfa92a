import { eventEntities } from '@parley/events/event-entities';
import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration, ServiceSchema } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

class Plain1795392000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000 + idempotencyTables1795392000000);
  }
}

/** Schema with the tables that every service has, and no others. */
export function plainSchema(schema: string): ServiceSchema {
  return { schema, migrations: [Plain1795392000000], entities: [...eventEntities, IdempotencyKeyEntity] };
}
