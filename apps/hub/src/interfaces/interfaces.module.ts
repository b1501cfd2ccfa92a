import { Module } from '@nestjs/common';
import { PublishingModule } from '../publishing/publishing.module';
import { WorkspacesModule } from '../workspaces/workspaces.module';
import { InterfacesController } from './interfaces.controller';
import { InterfacesRepository } from './interfaces.repository';
import { InterfacesService } from './interfaces.service';

@Module({
  imports: [PublishingModule, WorkspacesModule],
  controllers: [InterfacesController],
  providers: [InterfacesRepository, InterfacesService],
})
export class InterfacesModule {}
