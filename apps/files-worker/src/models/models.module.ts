import { Module } from '@nestjs/common';
import { Completions } from '@parley/openai/completions';
import { FilesWorkerConfig } from '../config';
import { ModelServerClient } from './model-server.client';

@Module({
  providers: [
    {
      provide: Completions,
      useFactory: (config: FilesWorkerConfig) => new Completions(config),
      inject: [FilesWorkerConfig],
    },
    ModelServerClient,
  ],
  exports: [ModelServerClient],
})
export class ModelsModule {}
