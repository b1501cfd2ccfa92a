import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { allowsPrivate } from '@parley/egress/config';
import { EgressClient } from '@parley/egress/egress.client';
import { ActionCallsService } from './actions/action-calls.service';
import { ActionRunEntity } from './actions/action-run.entity';
import { ActionRunsRepository } from './actions/action-runs.repository';
import { ActionRunsService } from './actions/action-runs.service';
import { ActionSlotsLimiter } from './actions/action-slots.limiter';
import { ActionsController } from './actions/actions.controller';
import { ActionsService } from './actions/actions.service';
import { ComputeRowsHandler } from './actions/compute-rows.handler';
import { RowComputationsWorker } from './actions/row-computations.worker';
import { RuntimeConfig } from './config';
import { BotTargetsCache } from './invocations/bot-targets.cache';
import { BotClient } from './invocations/bot.client';
import { CalleeClient } from './invocations/callee.client';
import { CodePreparationClient } from './invocations/code-preparation.client';
import { IntegrationTargetsCache } from './invocations/integration-targets.cache';
import { IntegrationClient } from './invocations/integration.client';
import { PingsController } from './invocations/pings.controller';
import { PingsService } from './invocations/pings.service';
import { RunnerClient } from './invocations/runner.client';
import { RunnersService } from './invocations/runners.service';
import { TunnelClient } from './invocations/tunnel.client';
import { UnloadableCodeLimiter } from './invocations/unloadable-code.limiter';
import { UrlClient } from './invocations/url.client';
import { RecordsModule } from './records/records.module';
import { IntegrationRegistrationsWorker } from './registrations/integration-registrations.worker';
import { RegisterBotHandler } from './registrations/register-bot.handler';
import { RegisterInstallationsHandler } from './registrations/register-installations.handler';
import { RegistrationsWorker } from './registrations/registrations.worker';

/** Calls of bots and integrations, wherever their code runs: pings, registrations, actions and computations of rows. */
@Module({
  imports: [RecordsModule, TypeOrmModule.forFeature([ActionRunEntity])],
  controllers: [
    ActionsController,
    ComputeRowsHandler,
    PingsController,
    RegisterBotHandler,
    RegisterInstallationsHandler,
  ],
  providers: [
    ActionCallsService,
    ActionRunsService,
    ActionRunsRepository,
    ActionSlotsLimiter,
    ActionsService,
    BotClient,
    BotTargetsCache,
    CalleeClient,
    CodePreparationClient,
    IntegrationClient,
    IntegrationRegistrationsWorker,
    IntegrationTargetsCache,
    PingsService,
    RegistrationsWorker,
    RowComputationsWorker,
    RunnerClient,
    RunnersService,
    TunnelClient,
    UnloadableCodeLimiter,
    UrlClient,
    {
      provide: EgressClient,
      useFactory: (config: RuntimeConfig) => new EgressClient({ allowPrivate: allowsPrivate(config) }),
      inject: [RuntimeConfig],
    },
  ],
  exports: [
    ActionRunsRepository,
    BotClient,
    BotTargetsCache,
    IntegrationClient,
    IntegrationTargetsCache,
    RunnersService,
  ],
})
export class CallsModule {}
