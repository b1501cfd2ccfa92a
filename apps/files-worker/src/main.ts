import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { FilesWorkerConfig } from './config';
import { FilesWorkerModule } from './files-worker.module';

void runApp({
  name: 'files-worker',
  config: FilesWorkerConfig,
  module: (config, platform) => FilesWorkerModule.register(config, platform),
});
