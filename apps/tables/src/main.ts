import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { TablesConfig } from './config';
import { TablesModule } from './tables.module';

void runApp({
  name: 'tables',
  config: TablesConfig,
  module: (config, platform) => TablesModule.register(config, platform),
});
