import { Controller } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { ChargeUnpaidInvoices } from '@parley/contracts/admin/billing';
import type { WorkspaceId } from '@parley/contracts/admin/workspaces';
import { Handles } from '@parley/transport/handles';
import { BillingService } from './billing.service';

@Controller()
export class BillingController {
  constructor(private readonly service: BillingService) {}

  @Handles(admin.billing.listInvoices)
  listInvoices(caller: AccountCaller, input: WorkspaceId) {
    return this.service.listInvoices(caller, input);
  }

  @Handles(admin.billing.getUpcomingInvoice)
  getUpcomingInvoice(caller: AccountCaller, input: WorkspaceId) {
    return this.service.getUpcomingInvoice(caller, input);
  }

  @Handles(admin.billing.chargeUnpaidInvoices)
  chargeUnpaidInvoices(caller: AccountCaller, input: ChargeUnpaidInvoices) {
    return this.service.chargeUnpaidInvoices(caller, input);
  }
}
