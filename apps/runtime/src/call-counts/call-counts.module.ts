import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CallCountEntity } from './call-count.entity';
import { CallCountsRepository } from './call-counts.repository';
import { CallCountsService } from './call-counts.service';

@Module({
  imports: [TypeOrmModule.forFeature([CallCountEntity])],
  providers: [CallCountsService, CallCountsRepository],
  exports: [CallCountsService],
})
export class CallCountsModule {}
