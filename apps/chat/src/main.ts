import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { ChatConfig } from './config';
import { ChatModule } from './chat.module';

void runApp({ name: 'chat', config: ChatConfig, module: (config, platform) => ChatModule.register(config, platform) });
