import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { RuntimeConfig } from './config';
import { RuntimeModule } from './runtime.module';

void runApp({
  name: 'runtime',
  config: RuntimeConfig,
  module: (config, platform) => RuntimeModule.register(config, platform),
});
