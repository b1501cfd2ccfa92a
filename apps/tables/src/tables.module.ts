import { type DynamicModule, Module } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import type { TablesConfig } from './config';

export const tablesDatabase = { schema: 'tables', migrations: [] };

/** Tables and their rows. Owns its schema and answers no operation yet. */
@Module({})
export class TablesModule {
  static register(config: TablesConfig, platform: Platform): DynamicModule {
    return {
      module: TablesModule,
      imports: [
        ServiceModule.register({ name: 'tables', contract: {}, database: { ...tablesDatabase, config } }, platform),
      ],
    };
  }
}
