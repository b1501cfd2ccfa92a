import { Module } from '@nestjs/common';
import { SignalPartitionsRepository } from './signal-partitions.repository';
import { SignalsController } from './signals.controller';
import { SignalsRepository } from './signals.repository';
import { SignalsService } from './signals.service';

@Module({
  controllers: [SignalsController],
  providers: [SignalsService, SignalsRepository, SignalPartitionsRepository],
  exports: [SignalsService],
})
export class SignalsModule {}
