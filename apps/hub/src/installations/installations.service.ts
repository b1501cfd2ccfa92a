import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { hasPermission } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { Caller, Role } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import { InstallationsRepository } from './installations.repository';

/** Questions about installations of bots, which admin owns. */
@Injectable()
export class InstallationsService {
  constructor(
    private readonly client: ParleyClient,
    private readonly installations: InstallationsRepository,
  ) {}

  /** Throws Forbidden: the same error for a missing bot as for one that the caller may not read. */
  async requireBotReader(caller: Caller, botId: string): Promise<void> {
    const role = caller.otherBot?.id === botId ? caller.otherBot.role : await this.askForRole(caller, botId);
    if (role && hasPermission(role, 'read')) return;
    throw new ApiError('Forbidden', `installedByBotId "${botId}": bot not found, or no read access with this token.`);
  }

  /**
   * Throws ReferenceConstraint when a bot has it installed, as last reported by admin. An installation or uninstallation
   * of the last moments is missed until its event arrives: a bot keeps a deleted integration, with the status
   * `registration_failed`.
   */
  async requireUnused(sql: Sql, kind: 'integration' | 'plugin', id: string): Promise<void> {
    if (!(await this.installations.isInstalled(sql, kind, id))) return;
    throw new ApiError(
      'ReferenceConstraint',
      `Cannot delete ${kind} "${id}": bots have it installed. Uninstall it from all bots first.`,
    );
  }

  /** For a gateway or an admin of 0.2.0, which resolve no other bot. */
  private async askForRole(caller: Caller, botId: string): Promise<Role | null> {
    const input = { accountId: caller.account?.id ?? '', botId };
    return (await this.client.call(admin.identity.roleInBot, caller, input)).role;
  }
}
