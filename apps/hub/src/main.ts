import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { HubConfig } from './config';
import { HubModule } from './hub.module';

void runApp({ name: 'hub', config: HubConfig, module: (config, platform) => HubModule.register(config, platform) });
