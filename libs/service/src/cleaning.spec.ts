import { type DynamicModule, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { plainSchema } from '@parley/testing/plain-schema';
import { ServiceConfig } from './config';
import type { Platform } from './platform';
import { ServiceModule } from './service.module';

@Injectable()
class Past implements OnModuleInit {
  constructor(private readonly database: Database) {}

  async onModuleInit(): Promise<void> {
    await this.database.query(`
      INSERT INTO outbox (id, subject, data, published_at)
        VALUES ('old', 'probe.happened', '{}', now() - interval '73 hours'),
          ('young', 'probe.happened', '{}', now() - interval '71 hours');
      INSERT INTO outbox (id, subject, data, created_at)
        VALUES ('waiting', 'probe.happened', '{}', now() - interval '100 hours');
      INSERT INTO inbox (consumer, event_id, received_at)
        VALUES ('probe', 'old', now() - interval '145 hours'), ('probe', 'young', now() - interval '143 hours');
      INSERT INTO idempotency_key (scope, operation, key, body_hash, created_at)
        VALUES ('', '', 'old', '', now() - interval '25 hours'), ('', '', 'young', '', now() - interval '23 hours');
    `);
  }
}

@Module({})
class ProbeModule {
  static register(databaseUrl: string, platform: Platform): DynamicModule {
    const config = Object.assign(new ServiceConfig(), { databaseUrl, databasePoolSize: 3 });
    return {
      module: ProbeModule,
      imports: [
        ServiceModule.register(
          { name: 'probe', contract: {}, database: { ...plainSchema('probe'), config } },
          platform,
        ),
      ],
      providers: [Past],
    };
  }
}

describe('a service', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await startService((databaseUrl, platform) => ProbeModule.register(databaseUrl, platform));
  });

  afterAll(() => service?.stop());

  it.each([
    ['outbox', 'id', ['waiting', 'young']],
    ['inbox', 'event_id', ['young']],
    ['idempotency_key', 'key', ['young']],
  ])('deletes expired rows of its table %s only', async (table, name, kept) => {
    const database = service.apps[0]!.get(Database, { strict: false });
    const list = async () =>
      (await database.query<{ name: string }>(`SELECT ${name} AS name FROM ${table} ORDER BY 1`)).map(
        (row) => row.name,
      );

    const left = await waitFor(list, (names) => !names.includes('old'));

    expect(left).toEqual(kept);
  });
});
