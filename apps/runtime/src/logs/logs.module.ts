import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IssuesModule } from '../issues/issues.module';
import { EraseLogsHandler } from './erase-logs.handler';
import { LogEntity } from './log.entity';
import { LogsController } from './logs.controller';
import { LogsRepository } from './logs.repository';
import { LogsService } from './logs.service';

@Module({
  imports: [IssuesModule, TypeOrmModule.forFeature([LogEntity])],
  controllers: [LogsController, EraseLogsHandler],
  providers: [LogsService, LogsRepository],
  exports: [LogsRepository],
})
export class LogsModule {}
