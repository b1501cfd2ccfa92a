import { EventEmitter } from 'node:events';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BotCaller, WorkspaceCaller } from '@parley/contracts/access';
import {
  type ConfigureIntegration,
  type ConnectInstallation,
  type InstalledAlias,
  type PendingRegistrations,
  type RegistrationReply,
  registerInstallations,
  type RegistrationsPending,
  registrationsPending,
  registrationWaitMs,
  type SettleRegistration,
} from '@parley/contracts/admin/registrations';
import type { Caller } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import { resolution } from '@parley/contracts/hub/resolution';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every, WhenDue } from '@parley/work-queue/worker';
import { BotVisibilityService } from '../../people/access/bot-visibility.service';
import { dueRegistrations, type RegistrationState, RegistrationsRepository } from './registrations.repository';

const scheduledAtOnce = 100;
const scheduleMs = 60_000;
const cleanMs = 60 * 60_000;
/** Pauses between two looks for outcomes. */
const [minPauseMs, maxPauseMs] = [25, 250];

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
  /** Tells that this process has stored an outcome. */
  private readonly outcomes = new EventEmitter().setMaxListeners(0);

  constructor(
    private readonly database: Database,
    private readonly botVisibility: BotVisibilityService,
    private readonly registrations: RegistrationsRepository,
    private readonly outbox: Outbox,
    private readonly client: ParleyClient,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async listPending({ botId }: RegistrationsPending): Promise<PendingRegistrations> {
    return { registrations: await this.registrations.listPending(botId) };
  }

  async settle({ botId, kind, id, revision, failure: reason }: SettleRegistration): Promise<object> {
    const failure = reason ?? null;
    if (kind === 'register') await this.registrations.storeOutcome(botId, id, revision, failure);
    else await this.registrations.settleFormer(botId, id, failure);
    this.outcomes.emit(nameOf(botId));
    return {};
  }

  /**
   * Resolves once the runtime has registered the pending installations of the bot, after the time limit or 20 s, and while
   * no runtime is there. Call it outside of a transaction: integrations call the API while they register. Never throws.
   */
  async settled(botId: string, timeoutMs = registrationWaitMs): Promise<void> {
    let endsAt = performance.now() + Math.min(timeoutMs, registrationWaitMs);
    const giveUp = (reason: string) => {
      if (endsAt === 0) return;
      endsAt = 0;
      this.logger.warn(`The integrations of the bot ${botId} are not registered yet: ${reason}`);
    };
    this.platform.events.isConsumed(registerInstallations).then(
      (isConsumed) => isConsumed || giveUp('no runtime is there.'),
      (error: unknown) => giveUp(String(error)),
    );
    try {
      for (
        let pauseMs = minPauseMs;
        (await this.isRegistering(botId)) && performance.now() < endsAt;
        pauseMs = Math.min(2 * pauseMs, maxPauseMs)
      )
        await this.nextOutcome(botId, pauseMs);
    } catch (error) {
      giveUp(String(error));
    } finally {
      endsAt = 0;
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
    const changes = [
      input.identifier !== undefined && (await this.identify(caller, { botId: bot.id, alias, id }, input.identifier)),
      'scheduleRegisterCall' in input &&
        (await this.registrations.storeSchedule(bot.id, alias, input.scheduleRegisterCall ?? null)),
    ];
    // Only a change: code whose registration timed out may still configure what it has configured before.
    if (changes.includes(true)) await this.registerFailedAgain(bot.id, alias);
    return {};
  }

  /** Throws ResourceNotFound for a bot that the caller does not see. */
  async registerAgainByMember(caller: WorkspaceCaller, input: InstalledAlias): Promise<RegistrationReply> {
    await this.botVisibility.requireVisible(caller, input.botId);
    return this.registerAgain(input);
  }

  async registerAgain({ botId, alias }: InstalledAlias): Promise<RegistrationReply> {
    await this.database.transaction(async (tx) => {
      if (!(await this.registrations.startAgain(tx, botId, alias))) throw await this.obstacleTo(botId, alias);
      await this.outbox.add(tx, registrationsPending, { botId });
    });
    await this.settled(botId);
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

  /** Throws ResourceNotFound for an identifier of an installation that is gone. */
  async connect(caller: Caller, { botId, alias, integrationId, identifier }: ConnectInstallation): Promise<object> {
    if (identifier !== undefined) {
      const family = await this.familyOf(caller, { botId, alias, id: integrationId });
      await this.database.transaction(async (tx) => {
        await this.registrations.releaseIdentifier(tx, identifier, family);
        await this.registrations.storeIdentifier(tx, botId, alias, identifier, family);
      });
    }
    await this.registerFailedAgain(botId, alias);
    return {};
  }

  /** A registration that failed before somebody connected or configured the installation may succeed now. */
  private async registerFailedAgain(botId: string, alias: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (await this.registrations.startAgain(tx, botId, alias, 'registration_failed'))
        await this.outbox.add(tx, registrationsPending, { botId });
    });
  }

  private async isRegistering(botId: string): Promise<boolean> {
    return (await this.registrations.listPending(botId)).some(({ kind }) => kind === 'register');
  }

  /** After the pause at the latest: another process may store the outcome. */
  private nextOutcome(botId: string, pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.outcomes.off(nameOf(botId), end);
        resolve();
      };
      const timer = setTimeout(end, pauseMs);
      this.outcomes.on(nameOf(botId), end);
    });
  }

  /** True if that changed the identifier. */
  private async identify(caller: Caller, installed: Installed, identifier: string | null): Promise<boolean> {
    const { botId, alias } = installed;
    if (identifier === null || identifier === '')
      return this.registrations.storeIdentifier(this.database, botId, alias, null, null);
    const family = await this.familyOf(caller, installed);
    return this.registrations.storeIdentifier(this.database, botId, alias, identifier, family);
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

/** Events of an emitter must not be named `error`. */
function nameOf(botId: string): string {
  return `bot ${botId}`;
}

function toReply({ status, status_reason }: RegistrationState): RegistrationReply {
  return { status, statusReason: status_reason };
}
