import { type DynamicModule, Module } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import type { HubConfig } from './config';

export const hubDatabase = { schema: 'hub', migrations: [] };

/** Integrations, interfaces and plugins. Owns its schema and answers no operation yet. */
@Module({})
export class HubModule {
  static register(config: HubConfig, platform: Platform): DynamicModule {
    return {
      module: HubModule,
      imports: [ServiceModule.register({ name: 'hub', contract: {}, database: { ...hubDatabase, config } }, platform)],
    };
  }
}
