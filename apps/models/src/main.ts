import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { ModelsConfig } from './config';
import { ModelsModule } from './models.module';

void runApp({
  name: 'models',
  config: ModelsConfig,
  module: (config, platform) => ModelsModule.register(config, platform),
});
