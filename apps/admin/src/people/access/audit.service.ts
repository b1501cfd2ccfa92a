import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import type { AuditRecords, ListAuditRecords } from '@parley/contracts/admin/audit';
import { Database } from '@parley/persistence/database';
import { RolesRepository } from './roles.repository';
import { toAuditRecord } from './audit-record.entity';
import { AuditRepository } from './audit.repository';

@Injectable()
export class AuditService {
  constructor(
    private readonly database: Database,
    private readonly audit: AuditRepository,
    private readonly roles: RolesRepository,
  ) {}

  async list(caller: AccountCaller, query: ListAuditRecords): Promise<AuditRecords> {
    await this.roles.requireRole(this.database, caller, query.id, 'administer');
    const { rows, nextToken } = await this.audit.listNewestOfWorkspace(query.id, query);
    return { records: rows.map(toAuditRecord), meta: { nextToken } };
  }
}
