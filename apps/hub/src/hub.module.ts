import { type DynamicModule, Module } from '@nestjs/common';
import { apps } from '@parley/contracts/apps';
import { hub } from '@parley/contracts/hub/hub';
import { deadLettersController } from '@parley/events/dead-letters';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import type { SealedColumns } from '@parley/secrets/sealed-texts.repository';
import { SealingModule } from '@parley/secrets/sealing.module';
import { HubConfig } from './config';
import { CountersRepository } from './counters/counters.repository';
import { ViewsService } from './counters/views.service';
import { CountInstallationsHandler } from './installations/count-installations.handler';
import { InstallationsRepository } from './installations/installations.repository';
import { InstallationsService } from './installations/installations.service';
import { IntegrationListRepository } from './integrations/integration-list.repository';
import { IntegrationsController } from './integrations/integrations.controller';
import { IntegrationsRepository } from './integrations/integrations.repository';
import { IntegrationsService } from './integrations/integrations.service';
import { PublicIntegrationsController } from './integrations/public-integrations.controller';
import { PublicIntegrationsService } from './integrations/public-integrations.service';
import { ResolutionController } from './integrations/resolution.controller';
import { ResolutionService } from './integrations/resolution.service';
import { InterfacesController } from './interfaces/interfaces.controller';
import { InterfacesRepository } from './interfaces/interfaces.repository';
import { InterfacesService } from './interfaces/interfaces.service';
import { Workspaces1700000003000 } from './migrations/1700000003000-workspaces';
import { Integrations1700000003010 } from './migrations/1700000003010-integrations';
import { Counters1700000003011 } from './migrations/1700000003011-counters';
import { Interfaces1700000003020 } from './migrations/1700000003020-interfaces';
import { ImplementedInterfaces1700000003021 } from './migrations/1700000003021-implemented-interfaces';
import { Plugins1700000003022 } from './migrations/1700000003022-plugins';
import { BuiltInInterfaces1700000003023 } from './migrations/1700000003023-built-in-interfaces';
import { ChatSettings1700000003024 } from './migrations/1700000003024-chat-settings';
import { PluginsController } from './plugins/plugins.controller';
import { PluginsRepository } from './plugins/plugins.repository';
import { PluginsService } from './plugins/plugins.service';
import { PublicationsRepository } from './publishing/publications.repository';
import { CopyWorkspacesHandler } from './workspaces/copy-workspaces.handler';
import { WorkspacesRepository } from './workspaces/workspaces.repository';
import { WorkspacesService } from './workspaces/workspaces.service';

export const hubDatabase = {
  schema: 'hub',
  migrations: [
    Workspaces1700000003000,
    Integrations1700000003010,
    Counters1700000003011,
    Interfaces1700000003020,
    ImplementedInterfaces1700000003021,
    Plugins1700000003022,
    BuiltInInterfaces1700000003023,
    ChatSettings1700000003024,
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
          { name: 'hub', contract: hub, consumers: apps.hub.consumes, database: { ...hubDatabase, config } },
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
