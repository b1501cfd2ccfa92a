import { type DynamicModule, Module } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import type { ChatConfig } from './config';

export const chatDatabase = { schema: 'chat', migrations: [] };

/** Users, conversations, messages, states and events. Owns its schema and answers no operation yet. */
@Module({})
export class ChatModule {
  static register(config: ChatConfig, platform: Platform): DynamicModule {
    return {
      module: ChatModule,
      imports: [
        ServiceModule.register({ name: 'chat', contract: {}, database: { ...chatDatabase, config } }, platform),
      ],
    };
  }
}
