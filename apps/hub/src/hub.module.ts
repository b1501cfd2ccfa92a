import { type DynamicModule, Module } from '@nestjs/common';
import { hub } from '@parley/contracts/hub/hub';
import { deadLettersController } from '@parley/outbox/dead-letters';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { HubConfig } from './config';
import { InterfacesController } from './interfaces/interfaces.controller';
import { InterfacesRepository } from './interfaces/interfaces.repository';
import { InterfacesService } from './interfaces/interfaces.service';
import { Workspaces1700000003000 } from './migrations/1700000003000-workspaces';
import { Interfaces1700000003020 } from './migrations/1700000003020-interfaces';
import { PublicationsRepository } from './publishing/publications.repository';
import { WorkspacesRepository } from './workspaces/workspaces.repository';
import { WorkspacesService } from './workspaces/workspaces.service';

export const hubDatabase = { schema: 'hub', migrations: [Workspaces1700000003000, Interfaces1700000003020] };

/** Integrations, interfaces and plugins with their versions. */
@Module({})
export class HubModule {
  static register(config: HubConfig, platform: Platform): DynamicModule {
    return {
      module: HubModule,
      imports: [ServiceModule.register({ name: 'hub', contract: hub, database: { ...hubDatabase, config } }, platform)],
      controllers: [InterfacesController, deadLettersController(hub.deadLetters)],
      providers: [
        { provide: HubConfig, useValue: config },
        InterfacesRepository,
        InterfacesService,
        PublicationsRepository,
        WorkspacesRepository,
        WorkspacesService,
      ],
    };
  }
}
