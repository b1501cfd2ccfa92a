import { Module } from '@nestjs/common';
import { InstallationsModule } from '../installations/installations.module';
import { PublishingModule } from '../publishing/publishing.module';
import { WorkspacesModule } from '../workspaces/workspaces.module';
import { PluginDependenciesService } from './plugin-dependencies.service';
import { PluginPublishingService } from './plugin-publishing.service';
import { PluginsController } from './plugins.controller';
import { PluginsRepository } from './plugins.repository';
import { PluginsService } from './plugins.service';

@Module({
  imports: [InstallationsModule, PublishingModule, WorkspacesModule],
  controllers: [PluginsController],
  providers: [PluginDependenciesService, PluginPublishingService, PluginsRepository, PluginsService],
})
export class PluginsModule {}
