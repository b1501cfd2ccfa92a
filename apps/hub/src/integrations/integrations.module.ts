import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CodeCheckClient } from '@parley/service/code-check.client';
import { CountersModule } from '../counters/counters.module';
import { InstallationsModule } from '../installations/installations.module';
import { WorkspacesModule } from '../workspaces/workspaces.module';
import { IntegrationDraftsService } from './integration-drafts.service';
import { IntegrationListRepository } from './integration-list.repository';
import { IntegrationEntity } from './integration.entity';
import { IntegrationPublishingService } from './integration-publishing.service';
import { IntegrationsController } from './integrations.controller';
import { IntegrationsRepository } from './integrations.repository';
import { IntegrationsService } from './integrations.service';

@Module({
  imports: [CountersModule, InstallationsModule, WorkspacesModule, TypeOrmModule.forFeature([IntegrationEntity])],
  controllers: [IntegrationsController],
  providers: [
    CodeCheckClient,
    IntegrationDraftsService,
    IntegrationListRepository,
    IntegrationPublishingService,
    IntegrationsRepository,
    IntegrationsService,
  ],
  exports: [IntegrationsService],
})
export class IntegrationsModule {}
