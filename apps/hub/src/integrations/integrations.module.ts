import { Module } from '@nestjs/common';
import { CountersModule } from '../counters/counters.module';
import { InstallationsModule } from '../installations/installations.module';
import { WorkspacesModule } from '../workspaces/workspaces.module';
import { IntegrationDraftsService } from './integration-drafts.service';
import { IntegrationListRepository } from './integration-list.repository';
import { IntegrationPublishingService } from './integration-publishing.service';
import { IntegrationsController } from './integrations.controller';
import { IntegrationsRepository } from './integrations.repository';
import { IntegrationsService } from './integrations.service';

@Module({
  imports: [CountersModule, InstallationsModule, WorkspacesModule],
  controllers: [IntegrationsController],
  providers: [
    IntegrationDraftsService,
    IntegrationListRepository,
    IntegrationPublishingService,
    IntegrationsRepository,
    IntegrationsService,
  ],
})
export class IntegrationsModule {}
