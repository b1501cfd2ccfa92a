import { Module } from '@nestjs/common';
import { Completions } from '@parley/openai/completions';
import { FilesWorkerConfig } from '../config';
import { DocumentAdvisersService } from './document-advisers.service';
import { ModelServerClient } from './model-server.client';
import { SummarizerService } from './summarizer.service';

@Module({
  providers: [
    {
      provide: Completions,
      useFactory: (config: FilesWorkerConfig) => new Completions(config),
      inject: [FilesWorkerConfig],
    },
    DocumentAdvisersService,
    ModelServerClient,
    SummarizerService,
  ],
  exports: [DocumentAdvisersService, SummarizerService],
})
export class ModelsModule {}
