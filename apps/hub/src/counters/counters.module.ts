import { Module } from '@nestjs/common';
import { ClosedCountersWorker } from './closed-counters.worker';
import { CountersRepository } from './counters.repository';
import { ViewsService } from './views.service';

@Module({
  providers: [ClosedCountersWorker, CountersRepository, ViewsService],
  exports: [CountersRepository, ViewsService],
})
export class CountersModule {}
