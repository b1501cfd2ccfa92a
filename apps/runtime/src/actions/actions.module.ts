import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BotTargetsModule } from '../bot-targets/bot-targets.module';
import { InvocationsModule } from '../invocations/invocations.module';
import { ActionRunEntity } from './action-run.entity';
import { ActionRunsRepository } from './action-runs.repository';
import { ActionRunsService } from './action-runs.service';
import { ActionSlotsLimiter } from './action-slots.limiter';
import { ActionsController } from './actions.controller';
import { ActionsService } from './actions.service';
import { ActionCallsService } from './action-calls.service';

@Module({
  imports: [TypeOrmModule.forFeature([ActionRunEntity]), BotTargetsModule, InvocationsModule],
  controllers: [ActionsController],
  providers: [ActionsService, ActionCallsService, ActionRunsService, ActionRunsRepository, ActionSlotsLimiter],
  exports: [ActionRunsRepository, ActionsService],
})
export class ActionsModule {}
