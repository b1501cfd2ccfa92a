import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { RunnerConfig } from './config';
import { RunnerModule } from './runner.module';

void runApp({
  name: 'runner',
  config: RunnerConfig,
  module: (config, platform) => RunnerModule.register(config, platform),
});
