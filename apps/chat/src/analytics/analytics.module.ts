import { Module } from '@nestjs/common';
import { ListQueriesModule } from '../queries/list-queries.module';
import { AnalyticsController } from './analytics.controller';
import { AnalyticsRepository } from './analytics.repository';
import { AnalyticsService } from './analytics.service';
import { ObservationsRepository } from './observations.repository';

@Module({
  imports: [ListQueriesModule],
  controllers: [AnalyticsController],
  providers: [AnalyticsService, AnalyticsRepository, ObservationsRepository],
})
export class AnalyticsModule {}
