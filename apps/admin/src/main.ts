import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { AdminModule } from './admin.module';
import { AdminConfig } from './config';

void runApp({
  name: 'admin',
  config: AdminConfig,
  module: (config, platform) => AdminModule.register(config, platform),
});
