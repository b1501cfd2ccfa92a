import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { type HubEntryId, installationsChanged } from '@parley/contracts/admin/installations';
import { ApiError } from '@parley/contracts/errors';
import { registrationsPending } from '@parley/contracts/admin/registrations';
import { Outbox } from '@parley/events/outbox';
import type { Transaction } from '@parley/persistence/database';
import { AuditRepository } from '../../people/access/audit.repository';
import type { InstalledRows } from './installation.entity';
import {
  type InstallationChanges,
  InstallationPlannerService,
  type PreparedChanges,
} from './installation-planner.service';
import { InstallationsRepository } from './installations.repository';

const maxAttempts = 10;

@Injectable()
export class InstallationsService {
  constructor(
    private readonly installations: InstallationsRepository,
    private readonly planner: InstallationPlannerService,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
    private readonly client: ParleyClient,
  ) {}

  /**
   * Optimistic concurrency: prepares the changes with calls to the hub outside a transaction, then runs `commit`, which
   * calls `apply` in its transaction. Repeats both when another change of the bot's installations was committed in
   * between.
   */
  async change<T>(
    caller: WorkspaceCaller,
    botId: string,
    changes: InstallationChanges,
    commit: (prepared: PreparedChanges | undefined) => Promise<T>,
  ): Promise<T> {
    if (!changes.integrations && !changes.plugins) return commit(undefined);
    for (let attempt = 1; ; attempt += 1) {
      const prepared = await this.planner.prepare(caller, botId, changes);
      try {
        return await commit(prepared);
      } catch (error) {
        if (!(error instanceof StaleRevisionError) || attempt === maxAttempts) throw error;
      }
    }
  }

  /** Writes and announces the prepared changes. Throws `StaleRevisionError` when they are out of date, so that `change` retries. */
  async apply(tx: Transaction, caller: WorkspaceCaller, botId: string, prepared: PreparedChanges): Promise<void> {
    const revision = await this.installations.incrementRevision(tx, botId);
    if (revision !== prepared.revision + 1) throw new StaleRevisionError();
    await this.installations.applyWrites(tx, botId, prepared);
    await this.announce(tx, botId);
    if (hasPending(prepared)) await this.outbox.add(tx, registrationsPending, { botId });
    await this.audit.insertChange(tx, caller, {
      workspaceId: caller.workspace.id,
      action: 'UPDATE_BOT_CHANNEL',
      operation: admin.bots.update,
      resourceId: botId,
      value: describe(prepared),
    });
    tx.afterCommit(() =>
      this.client.broadcast(credentialsChanged, { reason: `the integrations of bot ${botId} changed` }),
    );
  }

  async addChat(tx: Transaction, botId: string): Promise<InstalledRows> {
    await this.installations.incrementRevision(tx, botId);
    await this.installations.insertChat(tx, botId);
    return this.announce(tx, botId);
  }

  /** Before the deletion of a bot: keeps what is needed to unregister its installations. */
  async unregisterAll(tx: Transaction, botId: string): Promise<void> {
    const aliases = await this.installations.listNotifiedAliases(tx, botId);
    await this.installations.insertFormer(tx, botId, aliases);
    if (aliases.length > 0) await this.outbox.add(tx, registrationsPending, { botId });
  }

  /** Announces that a bot has no installations; for a bot that this transaction deletes. */
  async announceNone(tx: Transaction, bot: { id: string; workspaceId: string; revision: number }): Promise<void> {
    const { id: botId, workspaceId, revision } = bot;
    await this.outbox.add(tx, installationsChanged, {
      ...{ botId, workspaceId, revision: revision + 1 },
      integrations: [],
      plugins: [],
    });
  }

  async count({ id }: HubEntryId) {
    return { count: await this.installations.countBotsByEntry(id) };
  }

  private async announce(tx: Transaction, botId: string): Promise<InstalledRows> {
    const bot = await this.installations.getOfBot(tx, botId);
    await this.outbox.add(tx, installationsChanged, {
      botId,
      workspaceId: bot.workspace_id,
      revision: bot.revision,
      integrations: bot.integrations.map(({ alias, integration_id: id }) => ({ alias, id })),
      plugins: bot.plugins.map(({ alias, plugin_id: id }) => ({ alias, id })),
    });
    return bot;
  }
}

/** Whether integrations have to be notified about the changes. */
function hasPending({ integrations, unregistered }: PreparedChanges): boolean {
  return unregistered.length > 0 || integrations.some(({ status }) => status === 'registration_pending');
}

/** Conflict: another change of the installations was committed first. */
class StaleRevisionError extends ApiError {
  constructor() {
    super('ResourceLockedConflict', 'Other requests are changing the installations of this bot. Try again.');
  }
}

/** Omits configurations, which may contain secrets. */
function describe({ integrations, removedIntegrations, plugins, removedPlugins }: PreparedChanges): string {
  const removed = (alias: string) => `${alias} removed`;
  const parts = {
    integrations: [
      ...integrations.map((row) => `${row.alias} ${row.integration_id}`),
      ...removedIntegrations.map(removed),
    ],
    plugins: [...plugins.map((row) => `${row.alias} ${row.plugin_id}`), ...removedPlugins.map(removed)],
  };
  return Object.entries(parts)
    .filter(([, changes]) => changes.length > 0)
    .map(([kind, changes]) => `${kind}: ${changes.join(', ')}`)
    .join('; ');
}
