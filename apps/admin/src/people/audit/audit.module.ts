import { Module } from '@nestjs/common';
import { RolesModule } from '../roles/roles.module';
import { AuditController } from './audit.controller';
import { AuditRepository } from './audit.repository';
import { AuditService } from './audit.service';
import { RecordChangeHandler } from './record-change.handler';

@Module({
  imports: [RolesModule],
  controllers: [AuditController, RecordChangeHandler],
  providers: [AuditService, AuditRepository],
  exports: [AuditRepository],
})
export class AuditModule {}
