import { type DynamicModule, Module } from '@nestjs/common';
import { hubApp } from '@parley/contracts/apps/hub';
import { hub } from '@parley/contracts/hub/hub';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { Platform } from '@parley/service/platform';
import { ConfigModule } from '@parley/service/config.module';
import { ServiceModule } from '@parley/service/service.module';
import type { SealedColumns } from '@parley/secrets/sealed-texts.repository';
import { SealingModule } from '@parley/secrets/sealing.module';
import { workController } from '@parley/work-queue/work.controller';
import { HubConfig } from './config';
import { CounterClockEntity, IntegrationCounterEntity } from './counters/counter.entity';
import { CountersModule } from './counters/counters.module';
import { InstallationEntity, InstallationReportEntity } from './installations/installation.entity';
import { InstallationsModule } from './installations/installations.module';
import { IntegrationTargetsModule } from './integration-targets/integration-targets.module';
import { IntegrationCodeEntity } from './integrations/integration-code.entity';
import { IntegrationInterfaceEntity } from './integrations/integration-interface.entity';
import { IntegrationEntity } from './integrations/integration.entity';
import { InterfaceEntity } from './interfaces/interface.entity';
import { IntegrationsModule } from './integrations/integrations.module';
import { InterfacesModule } from './interfaces/interfaces.module';
import { Hub1795392000000 } from './migrations/1795392000000-hub';
import { IntegrationNames1796600000000 } from './migrations/1796600000000-integration-names';
import { PluginCodeEntity } from './plugins/plugin-code.entity';
import { PluginInterfaceEntity, PluginIntegrationEntity } from './plugins/plugin-dependency.entity';
import { PluginEntity } from './plugins/plugin.entity';
import { LinkScriptsModule } from './link-scripts/link-scripts.module';
import { PluginsModule } from './plugins/plugins.module';
import { VrlScriptsModule } from './scripts/vrl-scripts.module';
import { SharedWebhooksModule } from './shared-webhooks/shared-webhooks.module';
import { WorkspaceEntity } from './workspaces/workspace.entity';
import { WorkspacesModule } from './workspaces/workspaces.module';

export const hubDatabase: ServiceSchema = {
  schema: 'hub',
  migrations: [Hub1795392000000, IntegrationNames1796600000000],
  entities: [
    ...eventEntities,
    IdempotencyKeyEntity,
    WorkspaceEntity,
    InterfaceEntity,
    IntegrationEntity,
    IntegrationCodeEntity,
    IntegrationInterfaceEntity,
    InstallationReportEntity,
    InstallationEntity,
    CounterClockEntity,
    IntegrationCounterEntity,
    PluginCodeEntity,
    PluginEntity,
    PluginInterfaceEntity,
    PluginIntegrationEntity,
  ],
};

const sealedColumns: SealedColumns = {
  owners: 'integration',
  columns: [
    { table: 'integration', column: 'signing_secret', owner: 'id' },
    { table: 'integration', column: 'previous_signing_secret', owner: 'id' },
    { table: 'integration', column: 'secrets', owner: 'id', isMap: true },
  ],
};

@Module({})
export class HubModule {
  static register(config: HubConfig, platform: Platform): DynamicModule {
    return {
      module: HubModule,
      imports: [
        ServiceModule.register(
          { name: 'hub', contract: hub, consumers: hubApp.consumes, database: { ...hubDatabase, config } },
          platform,
        ),
        ConfigModule.register(HubConfig, config),
        SealingModule.register(config, sealedColumns, hub.sealedTexts),
        CountersModule,
        InstallationsModule,
        IntegrationTargetsModule,
        IntegrationsModule,
        InterfacesModule,
        LinkScriptsModule,
        PluginsModule,
        SharedWebhooksModule,
        VrlScriptsModule,
        WorkspacesModule,
      ],
      controllers: [deadLettersController(hub.deadLetters), workController(hub.work)],
    };
  }
}
