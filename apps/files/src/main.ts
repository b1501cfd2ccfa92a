import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { FilesConfig } from './config';
import { FilesModule } from './files.module';

void runApp({
  name: 'files',
  config: FilesConfig,
  module: (config, platform) => FilesModule.register(config, platform),
});
