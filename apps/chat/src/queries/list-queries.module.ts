import { Module } from '@nestjs/common';
import { BoundedReadsService } from './bounded-reads.service';

@Module({
  providers: [BoundedReadsService],
  exports: [BoundedReadsService],
})
export class ListQueriesModule {}
