import { type DynamicModule, Module } from '@nestjs/common';
import { runtimeApp } from '@parley/contracts/apps/runtime';
import { runtime, runtimeWorkAdded } from '@parley/contracts/runtime/runtime';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { SealedColumns } from '@parley/secrets/sealed-texts.repository';
import { SealingModule } from '@parley/secrets/sealing.module';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { workController } from '@parley/work-queue/work.controller';
import { WorkFailures1796900000000 } from '@parley/work-queue/migrations/1796900000000-work-failures';
import { WorkEntity } from '@parley/work-queue/work.entity';
import { ActionRunEntity } from './actions/action-run.entity';
import { CallsModule } from './calls.module';
import { RuntimeConfig } from './config';
import { DeliveriesModule } from './deliveries.module';
import { DeliveryEntity } from './deliveries/delivery.entity';
import { ErasureModule } from './erasure/erasure.module';
import { MessageDeliveryEntity } from './message-deliveries/message-delivery.entity';
import { Runtime1796100000000 } from './migrations/1796100000000-runtime';
import { Issues1796200000000 } from './migrations/1796200000000-issues';
import { CallCounts1796300000000 } from './migrations/1796300000000-call-counts';
import { ActionRuns1796400000000 } from './migrations/1796400000000-action-runs';
import { Logs1796500000000 } from './migrations/1796500000000-logs';
import { Integrations1796600000000 } from './migrations/1796600000000-integrations';
import { Changes1796700000000 } from './migrations/1796700000000-changes';
import { WebhookRecordings1796800000000 } from './migrations/1796800000000-webhook-recordings';
import { CallCountEntity } from './records/call-count.entity';
import { IssueEntity } from './records/issue.entity';
import { LogEntity } from './records/log.entity';
import { RecordsModule } from './records/records.module';
import { RecordedRequestEntity, WebhookRecordingEntity } from './webhooks/webhook-recording.entity';

export const runtimeDatabase: ServiceSchema = {
  schema: 'runtime',
  migrations: [
    Runtime1796100000000,
    Issues1796200000000,
    CallCounts1796300000000,
    ActionRuns1796400000000,
    Logs1796500000000,
    Integrations1796600000000,
    Changes1796700000000,
    WebhookRecordings1796800000000,
    WorkFailures1796900000000,
  ],
  entities: [
    ...eventEntities,
    WorkEntity,
    IdempotencyKeyEntity,
    DeliveryEntity,
    MessageDeliveryEntity,
    IssueEntity,
    CallCountEntity,
    ActionRunEntity,
    LogEntity,
    RecordedRequestEntity,
    WebhookRecordingEntity,
  ],
};

const sealedColumns: SealedColumns = {
  owners: 'webhook_recording',
  columns: [{ table: 'webhook_recording', column: 'key', owner: 'id' }],
};

/** Calls bots: decides what is called, when and how often, and records the outcome. */
@Module({})
export class RuntimeModule {
  static register(config: RuntimeConfig, platform: Platform): DynamicModule {
    return {
      module: RuntimeModule,
      imports: [
        ServiceModule.register(
          {
            name: 'runtime',
            contract: runtime,
            consumers: runtimeApp.consumes,
            database: { ...runtimeDatabase, config },
            workAdded: runtimeWorkAdded,
          },
          platform,
        ),
        ConfigModule.register(RuntimeConfig, config),
        SealingModule.register(config, sealedColumns, runtime.sealedTexts),
        RecordsModule,
        CallsModule,
        DeliveriesModule,
        ErasureModule,
      ],
      controllers: [deadLettersController(runtime.deadLetters), workController(runtime.work)],
    };
  }
}
