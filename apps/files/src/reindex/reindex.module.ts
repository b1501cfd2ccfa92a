import { Module } from '@nestjs/common';
import { ModelCompletionService } from './model-completion.service';
import { ReindexController } from './reindex.controller';
import { ReindexService } from './reindex.service';
import { WordsService } from './words.service';

@Module({
  controllers: [ReindexController],
  providers: [ReindexService, ModelCompletionService, WordsService],
  exports: [ModelCompletionService],
})
export class ReindexModule {}
