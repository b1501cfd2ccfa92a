import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import {
  type CodeNotLoadable,
  codeNotLoadable,
  type CreateBot,
  maxLoadFailureLength,
  maxSecrets,
  type UpdateBot,
} from '@parley/contracts/admin/bots';
import { mapEntries, mergeEntries } from '@parley/contracts/entries';
import { notFound } from '@parley/contracts/errors';
import { Outbox } from '@parley/events/outbox';
import { Database, type Transaction } from '@parley/persistence/database';
import { toText } from '@parley/persistence/storable';
import { CodeCheckClient, nothingDeployed } from '@parley/service/code-check.client';
import { SecretBox } from '@parley/secrets/secret-box';
import { newSigningSecret } from '@parley/secrets/signing-secret';
import { AdminConfig } from '../../config';
import { AuditRepository } from '../../people/access/audit.repository';
import { viewerOf } from '../../people/access/viewer';
import { InstallationsService } from '../installations/installations.service';
import { allRecurringEvents, withoutPlugins } from '../installations/merged-definition';
import { QuotasService } from '../../people/usage/quotas.service';
import { changeDefinition, checkDefinition, emptyDefinition, requireAtMost } from '../installations/bot-definition';
import { BotVersionsRepository } from './bot-versions.repository';
import type { BotRow } from './bot.entity';
import { BotsRepository } from './bots.repository';
import { RecurringEventsService } from './recurring-events.service';
import { RecurringFailuresRepository } from './recurring-failures.repository';
import { TargetChangesService } from './target-changes.service';

const maxTags = 1000;

export interface WrittenBot {
  row: BotRow;
  /** Why the code that was deployed cannot be loaded; null if it can, and without code. */
  loadFailure: string | null;
}

/** Writes a bot with its definition, code, recurring events and installations in one transaction. */
@Injectable()
export class BotWritesService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly versions: BotVersionsRepository,
    private readonly installations: InstallationsService,
    private readonly recurringEvents: RecurringEventsService,
    private readonly quotas: QuotasService,
    private readonly audit: AuditRepository,
    private readonly targetChanges: TargetChangesService,
    private readonly failures: RecurringFailuresRepository,
    private readonly codeChecks: CodeCheckClient,
    private readonly outbox: Outbox,
    private readonly box: SecretBox,
    private readonly config: AdminConfig,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateBot): Promise<WrittenBot> {
    checkDefinition(input);
    this.recurringEvents.check(input);
    const { code, url, secrets } = input;
    const loadFailure =
      code === undefined || url !== undefined
        ? null
        : await this.codeChecks.findFailure(caller, { owner: 'bot', code, secrets: secrets ?? {} });
    if (loadFailure !== null && this.isStrict(input)) throw nothingDeployed(loadFailure);
    const workspaceId = caller.workspace.id;
    const row = await this.database.transaction(async (tx) => {
      await this.quotas.admit(tx, workspaceId, 'bot_count');
      const created = await this.bots.insertBot(tx, input, {
        workspaceId,
        createdBy: caller.account?.id ?? null,
        name: input.name ?? `bot-${randomBytes(4).toString('hex')}`,
        signingSecret: this.box.seal(newSigningSecret()),
        secrets: mergeEntries({}, this.seal(input.secrets)),
        definition: changeDefinition(emptyDefinition, input),
      });
      const version_id = input.code === undefined ? null : await this.versions.deployCode(tx, created.id, input.code);
      if (Object.keys(created.definition.recurringEvents).length > 0)
        await this.recurringEvents.reserveAndAnnounce(tx, created);
      this.targetChanges.checkConfiguration(created);
      await this.targetChanges.announce(tx, { ...created, version_id }, isDeployment(input));
      await this.audit.insertChange(tx, caller, {
        workspaceId,
        action: 'CREATE_BOT',
        operation: admin.bots.create,
        resourceId: created.id,
        resourceName: created.name,
      });
      if (loadFailure !== null)
        await this.announceUnloadable(tx, { botId: created.id, failure: loadFailure, isDeployed: true });
      return { ...created, ...(await this.installations.addChat(tx, created.id)) };
    });
    return { row, loadFailure };
  }

  /** Runs under the bot's row lock: concurrent updates build on each other. */
  async update(caller: WorkspaceCaller, input: UpdateBot): Promise<WrittenBot> {
    checkDefinition(input);
    this.recurringEvents.check(input);
    const loadFailure = await this.findLoadFailure(caller, input);
    const secrets = this.seal(input.secrets);
    const row = await this.installations.change(caller, input.id, input, (prepared) =>
      this.database.transaction(async (tx) => {
        if (input.recurringEvents || input.plugins) await this.quotas.lock(tx, caller.workspace.id);
        const current = await this.bots.lockVisible(tx, viewerOf(caller), input.id);
        if (!current) throw notFound('bot', input.id);
        const changed = {
          tags: mergeEntries(current.tags, input.tags),
          secrets: mergeEntries(current.secrets, secrets),
          definition: changeDefinition(
            current.definition,
            withoutPlugins(
              input,
              [...current.plugins, ...(prepared?.plugins ?? [])].map(({ alias }) => alias),
            ),
          ),
        };
        requireAtMost(maxTags, 'tags', changed.tags);
        requireAtMost(maxSecrets, 'secrets', changed.secrets);
        if (input.code !== undefined) await this.versions.deployCode(tx, input.id, input.code);
        if (prepared) await this.installations.apply(tx, caller, input.id, prepared);
        await this.failures.deleteFailures(tx, input.id, Object.keys(input.recurringEvents ?? {}));
        const updated = await this.bots.updateLocked(tx, input, changed);
        if (input.recurringEvents || changesRecurringPlugins(current, updated))
          await this.recurringEvents.reserveAndAnnounce(tx, updated);
        this.targetChanges.checkConfiguration(updated);
        await this.targetChanges.announce(tx, updated, isDeployment(input));
        await this.audit.insertChange(tx, caller, {
          workspaceId: caller.workspace.id,
          action: 'UPDATE_BOT',
          operation: admin.bots.update,
          resourceId: input.id,
          resourceName: updated.name,
          value: changedFields(input),
        });
        if (loadFailure !== null)
          await this.announceUnloadable(tx, { botId: input.id, failure: loadFailure, isDeployed: true });
        return updated;
      }),
    );
    return { row, loadFailure };
  }

  /**
   * Outside of the transaction. A bot with a url is called there. Throws Runtime for a strict deployment, and announces that:
   * it changes nothing else.
   */
  private async findLoadFailure(caller: WorkspaceCaller, { id, code, ...input }: UpdateBot): Promise<string | null> {
    if (code === undefined) return null;
    const bot = await this.bots.findVisibleSecrets(viewerOf(caller), id);
    if (!bot) throw notFound('bot', id);
    const url = input.url === undefined ? bot.url : input.url;
    if (url !== null) return null;
    const stored = mapEntries(bot.secrets, (sealed) => this.box.open(sealed));
    const failure = await this.codeChecks.findFailure(caller, {
      ...{ owner: 'bot', ownerId: id, code },
      secrets: mergeEntries(stored, input.secrets),
    });
    if (failure === null || !this.isStrict(input)) return failure;
    await this.database.transaction((tx) => this.announceUnloadable(tx, { botId: id, failure, isDeployed: false }));
    throw nothingDeployed(failure);
  }

  private isStrict({ strictDeploy }: Pick<CreateBot, 'strictDeploy'>): boolean {
    return strictDeploy === true || this.config.strictDeploy === 'true';
  }

  private async announceUnloadable(tx: Transaction, { failure, ...deployment }: CodeNotLoadable): Promise<void> {
    const reason = toText(failure.slice(0, maxLoadFailureLength));
    await this.outbox.add(tx, codeNotLoadable, { ...deployment, failure: reason });
  }

  private seal(secrets: Record<string, string | null> = {}): Record<string, string | null> {
    return Object.fromEntries(
      Object.entries(secrets).map(([name, value]) => [name, value === null ? null : this.box.seal(value)]),
    );
  }
}

function isDeployment({ code, url }: Pick<UpdateBot, 'code' | 'url'>): boolean {
  return code !== undefined || typeof url === 'string';
}

function changesRecurringPlugins(before: BotRow, after: BotRow): boolean {
  return !isDeepStrictEqual(allRecurringEvents({}, before.plugins), allRecurringEvents({}, after.plugins));
}

/** Contains field names only: values may be secret or large. */
function changedFields({ id: _id, byAlias: _byAlias, strictDeploy: _strict, ...changes }: UpdateBot): string {
  return Object.keys(changes).sort().join(', ');
}
