import { Module } from '@nestjs/common';
import { OperatorsModule } from '../operators/operators.module';
import { WorkspacesModule } from '../workspaces/workspaces.module';
import { IdentityController } from './identity.controller';
import { IdentityRepository } from './identity.repository';
import { IdentityService } from './identity.service';

@Module({
  imports: [OperatorsModule, WorkspacesModule],
  controllers: [IdentityController],
  providers: [IdentityService, IdentityRepository],
  exports: [IdentityRepository],
})
export class IdentityModule {}
