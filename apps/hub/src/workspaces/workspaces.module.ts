import { Module } from '@nestjs/common';
import { CopyWorkspacesHandler } from './copy-workspaces.handler';
import { WorkspacesRepository } from './workspaces.repository';
import { WorkspacesService } from './workspaces.service';

@Module({
  controllers: [CopyWorkspacesHandler],
  providers: [WorkspacesRepository, WorkspacesService],
  exports: [WorkspacesService],
})
export class WorkspacesModule {}
