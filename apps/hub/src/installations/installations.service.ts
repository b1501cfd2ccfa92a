import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { hasPermission } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';

/** Questions about installations that admin answers. */
@Injectable()
export class InstallationsService {
  constructor(private readonly client: ParleyClient) {}

  /** Throws Forbidden: the same error for a missing bot as for one that the caller may not read. */
  async requireBotReader(caller: Caller, botId: string): Promise<void> {
    const accountId = caller.account?.id ?? '';
    const { role } = await this.client.call(admin.identity.roleInBot, caller, { accountId, botId });
    if (role && hasPermission(role, 'read')) return;
    throw new ApiError('Forbidden', `installedByBotId "${botId}": bot not found, or no read access with this token.`);
  }

  /** Throws ReferenceConstraint when a bot has it installed. Asks admin, whose events may not have arrived here yet. */
  async requireUnused(caller: Caller, kind: 'integration' | 'plugin', id: string): Promise<void> {
    const { count } = await this.client.call(admin.installations.count, caller, { id });
    if (count === 0) return;
    throw new ApiError(
      'ReferenceConstraint',
      `Cannot delete ${kind} "${id}": bots have it installed. Uninstall it from all bots first.`,
    );
  }
}
