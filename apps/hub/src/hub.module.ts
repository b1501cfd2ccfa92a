import { type DynamicModule, Module } from '@nestjs/common';
import { hubApp } from '@parley/contracts/apps/hub';
import { hub } from '@parley/contracts/hub/hub';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import type { SealedColumns } from '@parley/secrets/sealed-texts.repository';
import { SealingModule } from '@parley/secrets/sealing.module';
import { HubConfig } from './config';
import { CounterClockEntity, IntegrationCounterEntity } from './counters/counter.entity';
import { CountersRepository } from './counters/counters.repository';
import { ViewsService } from './counters/views.service';
import { CountInstallationsHandler } from './installations/count-installations.handler';
import { InstallationEntity, InstallationReportEntity } from './installations/installation.entity';
import { InstallationsRepository } from './installations/installations.repository';
import { InstallationsService } from './installations/installations.service';
import { IntegrationCodeEntity } from './integrations/integration-code.entity';
import { IntegrationInterfaceEntity } from './integrations/integration-interface.entity';
import { IntegrationListRepository } from './integrations/integration-list.repository';
import { IntegrationEntity } from './integrations/integration.entity';
import { IntegrationsController } from './integrations/integrations.controller';
import { IntegrationsRepository } from './integrations/integrations.repository';
import { IntegrationsService } from './integrations/integrations.service';
import { PublicIntegrationsController } from './integrations/public-integrations.controller';
import { PublicIntegrationsService } from './integrations/public-integrations.service';
import { ResolutionController } from './integrations/resolution.controller';
import { ResolutionService } from './integrations/resolution.service';
import { InterfaceEntity } from './interfaces/interface.entity';
import { InterfacesController } from './interfaces/interfaces.controller';
import { InterfacesRepository } from './interfaces/interfaces.repository';
import { InterfacesService } from './interfaces/interfaces.service';
import { Hub1795392000000 } from './migrations/1795392000000-hub';
import { PluginCodeEntity } from './plugins/plugin-code.entity';
import { PluginInterfaceEntity, PluginIntegrationEntity } from './plugins/plugin-dependency.entity';
import { PluginEntity } from './plugins/plugin.entity';
import { PluginsController } from './plugins/plugins.controller';
import { PluginsRepository } from './plugins/plugins.repository';
import { PluginsService } from './plugins/plugins.service';
import { PublicationsRepository } from './publishing/publications.repository';
import { CopyWorkspacesHandler } from './workspaces/copy-workspaces.handler';
import { WorkspaceEntity } from './workspaces/workspace.entity';
import { WorkspacesRepository } from './workspaces/workspaces.repository';
import { WorkspacesService } from './workspaces/workspaces.service';

export const hubDatabase: ServiceSchema = {
  schema: 'hub',
  migrations: [Hub1795392000000],
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
        SealingModule.register(config, sealedColumns, hub.sealedTexts),
      ],
      controllers: [
        IntegrationsController,
        InterfacesController,
        PluginsController,
        PublicIntegrationsController,
        ResolutionController,
        deadLettersController(hub.deadLetters),
        CopyWorkspacesHandler,
        CountInstallationsHandler,
      ],
      providers: [
        { provide: HubConfig, useValue: config },
        CountersRepository,
        InstallationsRepository,
        InstallationsService,
        IntegrationListRepository,
        IntegrationsRepository,
        IntegrationsService,
        InterfacesRepository,
        InterfacesService,
        PluginsRepository,
        PluginsService,
        PublicIntegrationsService,
        PublicationsRepository,
        ResolutionService,
        ViewsService,
        WorkspacesRepository,
        WorkspacesService,
      ],
    };
  }
}
