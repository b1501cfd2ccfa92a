import { Module } from '@nestjs/common';
import { RolesModule } from '../roles/roles.module';
import { WorkspacesModule } from '../workspaces/workspaces.module';
import { CallQuotaService } from './call-quota.service';
import { QuotasService } from './quotas.service';
import { RecordUsageHandler } from './record-usage.handler';
import { UsageController } from './usage.controller';
import { UsageRepository } from './usage.repository';
import { UsageService } from './usage.service';

@Module({
  imports: [RolesModule, WorkspacesModule],
  controllers: [UsageController, RecordUsageHandler],
  providers: [UsageService, QuotasService, CallQuotaService, UsageRepository],
  exports: [QuotasService, CallQuotaService],
})
export class UsageModule {}
