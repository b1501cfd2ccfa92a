import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CodeCheckClient } from '@parley/service/code-check.client';
import { AuditModule } from '../../people/audit/audit.module';
import { BotVisibilityModule } from '../bot-visibility/bot-visibility.module';
import { InstallationsModule } from '../installations/installations.module';
import { RegistrationsModule } from '../registrations/registrations.module';
import { RolesModule } from '../../people/roles/roles.module';
import { UsageModule } from '../../people/usage/usage.module';
import { BotAllowlistController } from './bot-allowlist.controller';
import { BotAllowlistRepository } from './bot-allowlist.repository';
import { BotAllowlistService } from './bot-allowlist.service';
import { BotDeletionService } from './bot-deletion.service';
import { BotWritesService } from './bot-writes.service';
import { BotTransferService } from './bot-transfer.service';
import { BotVersionEntity } from './bot-version.entity';
import { BotVersionsController } from './bot-versions.controller';
import { BotVersionsRepository } from './bot-versions.repository';
import { BotVersionsService } from './bot-versions.service';
import { BotsController } from './bots.controller';
import { BotsRepository } from './bots.repository';
import { BotsService } from './bots.service';
import { TargetChangesService } from './target-changes.service';
import { RecordRecurringFailureHandler } from './record-recurring-failure.handler';
import { RecurringEventsService } from './recurring-events.service';
import { RecurringFailuresRepository } from './recurring-failures.repository';

@Module({
  imports: [
    AuditModule,
    BotVisibilityModule,
    InstallationsModule,
    RegistrationsModule,
    RolesModule,
    UsageModule,
    TypeOrmModule.forFeature([BotVersionEntity]),
  ],
  controllers: [BotsController, BotAllowlistController, BotVersionsController, RecordRecurringFailureHandler],
  providers: [
    BotsService,
    BotWritesService,
    BotDeletionService,
    BotTransferService,
    RecurringEventsService,
    RecurringFailuresRepository,
    TargetChangesService,
    BotsRepository,
    CodeCheckClient,
    BotAllowlistService,
    BotAllowlistRepository,
    BotVersionsService,
    BotVersionsRepository,
  ],
})
export class BotsModule {}
