import { type DynamicModule, Module } from '@nestjs/common';
import { hub } from '@parley/contracts/hub/hub';
import { deadLettersController } from '@parley/outbox/dead-letters';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { HubConfig } from './config';
import { Workspaces1700000003000 } from './migrations/1700000003000-workspaces';
import { WorkspacesRepository } from './workspaces/workspaces.repository';
import { WorkspacesService } from './workspaces/workspaces.service';

export const hubDatabase = { schema: 'hub', migrations: [Workspaces1700000003000] };

/** Integrations, interfaces and plugins with their versions. */
@Module({})
export class HubModule {
  static register(config: HubConfig, platform: Platform): DynamicModule {
    return {
      module: HubModule,
      imports: [ServiceModule.register({ name: 'hub', contract: hub, database: { ...hubDatabase, config } }, platform)],
      controllers: [deadLettersController(hub.deadLetters)],
      providers: [{ provide: HubConfig, useValue: config }, WorkspacesRepository, WorkspacesService],
    };
  }
}
