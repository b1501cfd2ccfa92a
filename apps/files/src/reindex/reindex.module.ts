import { Module } from '@nestjs/common';
import { IndexingWorkModule } from '../indexing-work/indexing-work.module';
import { ModelCompletionService } from './model-completion.service';
import { OlderReadersRepository } from './older-readers.repository';
import { OlderReadersService } from './older-readers.service';
import { ReindexController } from './reindex.controller';
import { ReindexService } from './reindex.service';
import { WordsService } from './words.service';

@Module({
  imports: [IndexingWorkModule],
  controllers: [ReindexController],
  providers: [ReindexService, ModelCompletionService, WordsService, OlderReadersRepository, OlderReadersService],
  exports: [ModelCompletionService],
})
export class ReindexModule {}
