import { Injectable, Logger } from '@nestjs/common';
import type { BotCaller, WorkspaceCaller } from '@parley/contracts/access';
import {
  type ConfigureIntegration,
  type InstalledAlias,
  type PendingRegistrations,
  type RegistrationReply,
  type RegistrationsPending,
  registrationsPending,
  type SettleRegistration,
  type TakeIdentifier,
} from '@parley/contracts/admin/registrations';
import type { Caller } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import { resolution } from '@parley/contracts/hub/resolution';
import { registrationRuns } from '@parley/contracts/runtime/registrations';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every, WhenDue } from '@parley/work-queue/worker';
import { BotVisibilityService } from '../bot-visibility/bot-visibility.service';
import { dueRegistrations, type RegistrationState, RegistrationsRepository } from './registrations.repository';

const scheduledAtOnce = 100;
const scheduleMs = 60_000;
const cleanMs = 60 * 60_000;

interface Installed {
  botId: string;
  alias: string;
  /** Version id of the integration. */
  id: string;
}

/** Keeps what integrations have been notified about their installations. The runtime calls them. */
@Injectable()
export class RegistrationsService {
  private readonly logger = new Logger(RegistrationsService.name);

  constructor(
    private readonly database: Database,
    private readonly botVisibility: BotVisibilityService,
    private readonly registrations: RegistrationsRepository,
    private readonly outbox: Outbox,
    private readonly client: ParleyClient,
  ) {}

  async listPending({ botId }: RegistrationsPending): Promise<PendingRegistrations> {
    return { registrations: await this.registrations.listPending(botId) };
  }

  async settle({ botId, kind, id, revision, failure: reason }: SettleRegistration): Promise<object> {
    const failure = reason ?? null;
    if (kind === 'register') await this.registrations.storeOutcome(botId, id, revision, failure);
    else await this.registrations.settleFormer(botId, id, failure);
    return {};
  }

  /** Call it outside of a transaction: integrations call the API while they register. Never throws. */
  async run(caller: Caller, botId: string): Promise<void> {
    try {
      await this.client.call(registrationRuns.run, caller, { botId });
    } catch (error) {
      // The registrations are announced too, so the runtime makes up for it.
      this.logger.warn(`The integrations of the bot ${botId} are not registered yet: ${String(error)}`);
    }
  }

  /** Throws InvalidPayload without an installation, RelationConflict for an identifier that another one has. */
  async configure(caller: BotCaller, input: ConfigureIntegration): Promise<object> {
    const { bot, integration } = caller;
    if (integration?.alias === undefined)
      throw new ApiError(
        'InvalidPayload',
        'Only an integration can call this operation: name its installation with x-integration-alias.',
      );
    const { alias, id } = integration;
    if (input.identifier !== undefined) await this.identify(caller, { botId: bot.id, alias, id }, input.identifier);
    if ('scheduleRegisterCall' in input)
      await this.registrations.storeSchedule(bot.id, alias, input.scheduleRegisterCall ?? null);
    return {};
  }

  /** Throws ResourceNotFound for a bot that the caller does not see. */
  async registerAgainByMember(caller: WorkspaceCaller, input: InstalledAlias): Promise<RegistrationReply> {
    await this.botVisibility.requireVisible(caller, input.botId);
    return this.registerAgain(caller, input);
  }

  async registerAgain(caller: Caller, { botId, alias }: InstalledAlias): Promise<RegistrationReply> {
    await this.database.transaction(async (tx) => {
      if (!(await this.registrations.startAgain(tx, botId, alias))) throw await this.obstacleTo(botId, alias);
      await this.outbox.add(tx, registrationsPending, { botId });
    });
    await this.run(caller, botId);
    return toReply(
      (await this.registrations.findState(botId, alias)) ?? { status: 'unregistered', status_reason: null },
    );
  }

  /** Safe to run in several processes. */
  @WhenDue({ name: 'admin.scheduledRegistrations', rows: dueRegistrations, everyMs: scheduleMs })
  async startScheduled(): Promise<boolean> {
    await this.registrations.rescheduleTooFarAhead();
    return this.database.transaction(async (tx) => {
      const bots = await this.registrations.startScheduled(tx, scheduledAtOnce);
      for (const botId of bots) await this.outbox.add(tx, registrationsPending, { botId });
      return bots.length > 0;
    });
  }

  /** Safe to run in several processes. */
  @Every({ name: 'admin.formerInstallations', everyMs: cleanMs })
  async deleteOldFormer(): Promise<void> {
    await this.registrations.deleteOldFormer();
  }

  /** Throws ResourceNotFound for an installation that is gone. */
  async takeIdentifier(caller: Caller, { botId, alias, integrationId, identifier }: TakeIdentifier): Promise<object> {
    const family = await this.familyOf(caller, { botId, alias, id: integrationId });
    await this.database.transaction(async (tx) => {
      await this.registrations.releaseIdentifier(tx, identifier, family);
      await this.registrations.storeIdentifier(tx, botId, alias, identifier, family);
    });
    return {};
  }

  private async identify(caller: Caller, installed: Installed, identifier: string | null): Promise<void> {
    const { botId, alias } = installed;
    if (identifier === null || identifier === '')
      return this.registrations.storeIdentifier(this.database, botId, alias, null, null);
    const family = await this.familyOf(caller, installed);
    await this.registrations.storeIdentifier(this.database, botId, alias, identifier, family);
  }

  private async familyOf(caller: Caller, { botId, alias, id }: Installed): Promise<string> {
    const state = await this.registrations.findState(botId, alias);
    const { workspaceId } = await this.client.call(resolution.owner, caller, { id });
    if (!state || workspaceId === null) throw notFound('integration', alias);
    return `${workspaceId}/${state.name}`;
  }

  private async obstacleTo(botId: string, alias: string): Promise<ApiError> {
    const state = await this.registrations.findState(botId, alias);
    if (!state) return notFound('installation', alias);
    return new ApiError(
      'RelationConflict',
      `The integration "${alias}" is disabled, or has neither a URL nor code: there is nothing to register.`,
    );
  }
}

function toReply({ status, status_reason }: RegistrationState): RegistrationReply {
  return { status, statusReason: status_reason };
}
