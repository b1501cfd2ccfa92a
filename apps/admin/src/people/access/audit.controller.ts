import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { ListAuditRecords } from '@parley/contracts/admin/audit';
import { AuditService } from './audit.service';

@Controller()
export class AuditController {
  constructor(private readonly service: AuditService) {}

  @Handles(admin.auditRecords.list)
  list(caller: AccountCaller, input: ListAuditRecords) {
    return this.service.list(caller, input);
  }
}
