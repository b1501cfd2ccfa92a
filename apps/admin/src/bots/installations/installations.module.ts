import { Module } from '@nestjs/common';
import { AuditModule } from '../../people/audit/audit.module';
import { BotVisibilityModule } from '../bot-visibility/bot-visibility.module';
import { TokensModule } from '../../people/tokens/tokens.module';
import { InstallationLinksController } from './installation-links.controller';
import { InstallationLinksService } from './installation-links.service';
import { InstallationPlannerService } from './installation-planner.service';
import { InstallationViewsService } from './installation-views.service';
import { InstallationsController } from './installations.controller';
import { InstallationsRepository } from './installations.repository';
import { InstallationsService } from './installations.service';
import { RefreshInstallationsHandler } from './refresh-installations.handler';
import { ShareableIdsController } from './shareable-ids.controller';
import { ShareableIdsRepository } from './shareable-ids.repository';
import { ShareableIdsService } from './shareable-ids.service';

@Module({
  imports: [AuditModule, BotVisibilityModule, TokensModule],
  controllers: [
    InstallationsController,
    InstallationLinksController,
    ShareableIdsController,
    RefreshInstallationsHandler,
  ],
  providers: [
    InstallationsService,
    InstallationLinksService,
    InstallationPlannerService,
    InstallationViewsService,
    InstallationsRepository,
    ShareableIdsService,
    ShareableIdsRepository,
  ],
  exports: [InstallationsService, InstallationViewsService],
})
export class InstallationsModule {}
