import { IsIn, IsInt, IsString, MaxLength } from 'class-validator';
import { bot, operator, service, workspace } from '../access';
import { JsonObject, ListOf, Nullable, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';
import { type InstallationStatus, installationStatuses } from './bot-integrations';

/** Time in milliseconds for which the answer to a change of installations waits for their registration. */
export const registrationWaitMs = 20_000;

/** Whether an integration is notified that it is installed, or that it is no longer installed. */
export const registrationKinds = ['register', 'unregister'] as const;
export type RegistrationKind = (typeof registrationKinds)[number];

export class PendingRegistration {
  @IsIn(registrationKinds) kind!: RegistrationKind;

  /** Alias of the installation to register, or id of the former installation to unregister. */
  @IsString() id!: string;

  @IsString() alias!: string;
}

/** Change notification: integrations have to be notified about installations of a bot. */
export class RegistrationsPending {
  @IsString() botId!: string;
}

export const registrationsPending = event({ subject: 'admin.registrationsPending', data: RegistrationsPending });

export const registerInstallations = consumer({
  name: 'runtime.registerInstallations',
  event: registrationsPending,
  concurrency: 4,
});

export class PendingRegistrations {
  @ListOf(PendingRegistration) registrations!: PendingRegistration[];
}

export class SettleRegistration {
  @IsString() botId!: string;
  @IsIn(registrationKinds) kind!: RegistrationKind;

  /** As in PendingRegistration. */
  @IsString() id!: string;

  /** Revision of the installation: a newer one keeps its status. */
  @IsInt() revision!: number;

  /** Null or absent after a success. */
  @Nullable() @IsString() failure?: string | null;
}

export const registerSchedules = [
  'hourly',
  'daily',
  'weekly',
  'bi-weekly',
  'monthly',
  'bi-monthly',
  'quarterly',
  'yearly',
] as const;
export type RegisterSchedule = (typeof registerSchedules)[number];

export class ConfigureIntegration {
  /**
   * Routes requests to the shared webhook of the integration to this installation. Unique among all installations of the
   * integration. `null` removes it.
   */
  @Nullable() @IsString() @MaxLength(200) identifier?: string | null;

  /** How often the integration is registered again. Absent: only when the installation changes. */
  @Optional() @IsIn(registerSchedules) scheduleRegisterCall?: RegisterSchedule;

  /** Accepted, and not used: this version has no sandboxes. */
  @Nullable() @JsonObject() sandboxIdentifiers?: Record<string, unknown> | null;
}

/** The integration has been connected with an account. */
export class ConnectInstallation {
  @IsString() botId!: string;
  @IsString() alias!: string;

  /** Version id. */
  @IsString() integrationId!: string;

  /** Identifier that the integration has confirmed as that of this installation: no other one keeps it. */
  @Optional() @IsString() @MaxLength(200) identifier?: string;
}

export class InstalledAlias {
  @PathParam() botId!: string;
  @PathParam({ maxLength: 200 }) alias!: string;
}

export class RegistrationReply {
  @IsIn(installationStatuses) status!: InstallationStatus;
  @Nullable() @IsString() statusReason!: string | null;
}

export const registrations = {
  listPending: operation({
    subject: 'admin.registrations.listPending',
    summary: 'Lists the installations of a bot that their integrations have not been notified of.',
    access: service,
    input: RegistrationsPending,
    output: PendingRegistrations,
  }),
  settle: operation({
    subject: 'admin.registrations.settle',
    summary: 'Stores the outcome of telling an integration about an installation.',
    access: service,
    input: SettleRegistration,
    output: Empty,
  }),
  connect: operation({
    subject: 'admin.registrations.connect',
    summary:
      'Stores that an installation was connected: its identifier, and a new registration if the last one failed.',
    access: service,
    input: ConnectInstallation,
    output: Empty,
  }),
  configure: operation({
    subject: 'admin.registrations.configure',
    route: 'POST /v1/chat/integrations/configure',
    summary: 'Sets the identifier and the registration schedule of the installation that calls it.',
    access: bot.writeAlsoByIntegration,
    input: ConfigureIntegration,
    output: Empty,
  }),
  registerAgainByMember: operation({
    subject: 'admin.registrations.registerAgainByMember',
    route: 'POST /v1/admin/bots/{botId}/integrations/{alias}/register',
    summary: 'Registers an installed integration of a bot of the workspace again, and returns its status.',
    access: workspace.write,
    isOwn: true,
    input: InstalledAlias,
    output: RegistrationReply,
    timeoutMs: 30_000,
  }),
  registerAgain: operation({
    subject: 'admin.registrations.registerAgain',
    route: 'POST /operator/admin/bots/{botId}/integrations/{alias}/register',
    summary: 'Registers an installed integration again, and returns its status.',
    access: operator,
    input: InstalledAlias,
    output: RegistrationReply,
    timeoutMs: 30_000,
  }),
};
