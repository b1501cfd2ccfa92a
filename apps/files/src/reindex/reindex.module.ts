import { Module } from '@nestjs/common';
import { ReindexController } from './reindex.controller';
import { ReindexService } from './reindex.service';

@Module({
  controllers: [ReindexController],
  providers: [ReindexService],
})
export class ReindexModule {}
