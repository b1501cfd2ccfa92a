import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import type { ChargedInvoices, ChargeUnpaidInvoices, Invoices, UpcomingInvoice } from '@parley/contracts/admin/billing';
import type { WorkspaceId } from '@parley/contracts/admin/workspaces';
import { notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { RolesRepository } from '../access/roles.repository';

/** Billing of a platform that charges nothing: no workspace has invoices. */
@Injectable()
export class BillingService {
  constructor(
    private readonly database: Database,
    private readonly roles: RolesRepository,
  ) {}

  async listInvoices(caller: AccountCaller, { id }: WorkspaceId): Promise<Invoices> {
    await this.roles.requireRole(this.database, caller, id, 'belong');
    return { invoices: [] };
  }

  async getUpcomingInvoice(caller: AccountCaller, { id }: WorkspaceId): Promise<UpcomingInvoice> {
    await this.roles.requireRole(this.database, caller, id, 'belong');
    return { total: 0, lineItems: [] };
  }

  /** Throws ResourceNotFound for any invoice that is named. */
  async chargeUnpaidInvoices(
    caller: AccountCaller,
    { id, invoiceIds }: ChargeUnpaidInvoices,
  ): Promise<ChargedInvoices> {
    await this.roles.requireRole(this.database, caller, id, 'belong');
    if (invoiceIds?.[0] !== undefined) throw notFound('invoice', invoiceIds[0]);
    return { chargedInvoices: [], failedInvoices: [] };
  }
}
