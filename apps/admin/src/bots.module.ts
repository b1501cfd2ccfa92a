import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { CodeCheckClient } from '@parley/service/code-check.client';
import { BotAllowlistRepository } from './bots/bots/bot-allowlist.repository';
import { BotAllowlistService } from './bots/bots/bot-allowlist.service';
import { BotDeletionService } from './bots/bots/bot-deletion.service';
import { BotTransferService } from './bots/bots/bot-transfer.service';
import { BotVersionEntity } from './bots/bots/bot-version.entity';
import { BotVersionsController } from './bots/bots/bot-versions.controller';
import { BotVersionsRepository } from './bots/bots/bot-versions.repository';
import { BotVersionsService } from './bots/bots/bot-versions.service';
import { BotWritesService } from './bots/bots/bot-writes.service';
import { BotsController } from './bots/bots/bots.controller';
import { BotsRepository } from './bots/bots/bots.repository';
import { BotsService } from './bots/bots/bots.service';
import { RecordRecurringFailureHandler } from './bots/bots/record-recurring-failure.handler';
import { RecurringEventsService } from './bots/bots/recurring-events.service';
import { RecurringFailuresRepository } from './bots/bots/recurring-failures.repository';
import { TargetChangesService } from './bots/bots/target-changes.service';
import { BotCodeService } from './bots/code/bot-code.service';
import { CodeController } from './bots/code/code.controller';
import { CodeRepository } from './bots/code/code.repository';
import { RuntimeKeysService } from './bots/code/runtime-keys.service';
import { BotDefinitionsController } from './bots/definitions/bot-definitions.controller';
import { BotDefinitionsRepository } from './bots/definitions/bot-definitions.repository';
import { BotDefinitionsService } from './bots/definitions/bot-definitions.service';
import { InstallationLinksService } from './bots/installations/installation-links.service';
import { InstallationPlannerService } from './bots/installations/installation-planner.service';
import { InstallationViewsService } from './bots/installations/installation-views.service';
import { InstallationsController } from './bots/installations/installations.controller';
import { InstallationsRepository } from './bots/installations/installations.repository';
import { InstallationsService } from './bots/installations/installations.service';
import { RefreshInstallationsHandler } from './bots/installations/refresh-installations.handler';
import { ShareableIdsRepository } from './bots/installations/shareable-ids.repository';
import { ShareableIdsService } from './bots/installations/shareable-ids.service';
import { RegistrationsController } from './bots/registrations/registrations.controller';
import { RegistrationsRepository } from './bots/registrations/registrations.repository';
import { RegistrationsService } from './bots/registrations/registrations.service';
import { ActionTargetsService } from './bots/targets/action-targets.service';
import { BotTargetsService } from './bots/targets/bot-targets.service';
import { InstallationTargetsService } from './bots/targets/installation-targets.service';
import { TargetsController } from './bots/targets/targets.controller';
import { TargetsRepository } from './bots/targets/targets.repository';
import { WebchatSettingsEntity } from './bots/webchats/webchat-settings.entity';
import { WebchatsController } from './bots/webchats/webchats.controller';
import { WebchatsRepository } from './bots/webchats/webchats.repository';
import { WebchatsService } from './bots/webchats/webchats.service';
import { PeopleModule } from './people.module';

/** Bots with their versions, code and installations, and the answers to services that call bots and integrations. */
@Module({
  imports: [PeopleModule, TypeOrmModule.forFeature([BotVersionEntity, WebchatSettingsEntity])],
  controllers: [
    BotDefinitionsController,
    BotVersionsController,
    BotsController,
    CodeController,
    InstallationsController,
    RecordRecurringFailureHandler,
    RefreshInstallationsHandler,
    RegistrationsController,
    TargetsController,
    WebchatsController,
  ],
  providers: [
    ActionTargetsService,
    BotAllowlistService,
    BotAllowlistRepository,
    BotCodeService,
    BotDefinitionsService,
    BotDefinitionsRepository,
    BotDeletionService,
    BotTargetsService,
    BotTransferService,
    BotVersionsService,
    BotVersionsRepository,
    BotWritesService,
    BotsService,
    BotsRepository,
    CodeCheckClient,
    CodeRepository,
    InstallationLinksService,
    InstallationPlannerService,
    InstallationTargetsService,
    InstallationViewsService,
    InstallationsService,
    InstallationsRepository,
    RecurringEventsService,
    RecurringFailuresRepository,
    RegistrationsService,
    RegistrationsRepository,
    RuntimeKeysService,
    ShareableIdsService,
    ShareableIdsRepository,
    TargetChangesService,
    TargetsRepository,
    WebchatsService,
    WebchatsRepository,
    CodeTickets.provider('code-tickets'),
  ],
})
export class BotsModule {}
