import { ArrayMinSize, IsArray, IsIn, IsInt, IsISO8601, IsNumber, IsString, MaxLength } from 'class-validator';
import { account } from '../access';
import { ListOf, Nested, Optional, OrNull } from '../fields';
import { operation } from '../operation';
import { WorkspaceId } from './workspaces';

const paymentStatuses = ['deleted', 'draft', 'open', 'paid', 'uncollectible', 'void'] as const;
const lineItemTypes = ['invoiceitem', 'subscription'] as const;

export class InvoicePeriod {
  @IsInt() month!: number;
  @IsInt() year!: number;
}

/** Invoice as the public client knows it: Parley issues none. */
export class Invoice {
  @IsString() id!: string;
  @Nested(InvoicePeriod) period!: InvoicePeriod;
  @IsISO8601() date!: string;
  @IsNumber() amount!: number;
  @IsString() currency!: string;
  @OrNull() @IsString() @IsIn(paymentStatuses) paymentStatus!: (typeof paymentStatuses)[number] | null;
  @Optional() @IsString() dueDate?: string;
  @OrNull() @IsInt() paymentAttemptCount!: number | null;
  @OrNull() @IsString() @IsISO8601() nextPaymentAttemptDate!: string | null;
  @IsString() pdfUrl!: string;
}

export class Invoices {
  @ListOf(Invoice) invoices!: Invoice[];
}

export class LineItem {
  @IsString() id!: string;
  @IsString() description!: string;
  @IsNumber() totalInCents!: number;
  @IsString() currency!: string;
  @OrNull() @IsNumber() pricePerUnitInCents!: number | null;
  @OrNull() @IsNumber() quantity!: number | null;
  @IsIn(lineItemTypes) type!: (typeof lineItemTypes)[number];
  @OrNull() @IsString() periodStart!: string | null;
  @OrNull() @IsString() periodEnd!: string | null;
}

export class UpcomingInvoice {
  @IsNumber() total!: number;
  @ListOf(LineItem) lineItems!: LineItem[];
}

export class ChargeUnpaidInvoices extends WorkspaceId {
  /** All unpaid invoices when absent. */
  @Optional()
  @IsArray()
  @ArrayMinSize(1)
  @IsString({ each: true })
  @MaxLength(200, { each: true })
  invoiceIds?: string[];
}

export class ChargedInvoice {
  @IsString() id!: string;
  @IsNumber() amount!: number;
}

export class FailedInvoice extends ChargedInvoice {
  @IsString() failedReason!: string;
}

export class ChargedInvoices {
  @ListOf(ChargedInvoice) chargedInvoices!: ChargedInvoice[];
  @ListOf(FailedInvoice) failedInvoices!: FailedInvoice[];
}

export const billing = {
  listInvoices: operation({
    subject: 'admin.billing.listInvoices',
    route: 'GET /v1/admin/workspaces/{id}/billing/invoices',
    summary: 'Lists the invoices of a workspace: none, since Parley charges nothing.',
    access: account,
    input: WorkspaceId,
    output: Invoices,
  }),
  getUpcomingInvoice: operation({
    subject: 'admin.billing.getUpcomingInvoice',
    route: 'GET /v1/admin/workspaces/{id}/billing/upcoming-invoice',
    summary: 'Gets the next invoice of a workspace: without items, since Parley charges nothing.',
    access: account,
    input: WorkspaceId,
    output: UpcomingInvoice,
  }),
  chargeUnpaidInvoices: operation({
    subject: 'admin.billing.chargeUnpaidInvoices',
    route: 'POST /v1/admin/workspaces/{id}/billing/invoices/charge-unpaid',
    summary: 'Charges the unpaid invoices of a workspace: there are none.',
    access: account,
    input: ChargeUnpaidInvoices,
    output: ChargedInvoices,
  }),
};
