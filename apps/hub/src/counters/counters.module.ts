import { Module } from '@nestjs/common';
import { CountersRepository } from './counters.repository';
import { ViewsService } from './views.service';

@Module({
  providers: [CountersRepository, ViewsService],
  exports: [CountersRepository, ViewsService],
})
export class CountersModule {}
