import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { Consumes } from '@parley/transport/handles';
import { hasPermission } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { countInstallations, type InstallationsChanged } from '@parley/contracts/admin/installations';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { type Counted, CountersRepository } from '../counters/counters.repository';
import { InstallationsRepository } from './installations.repository';

/** Installations of bots, copied from admin's events. */
@Injectable()
export class InstallationsService {
  constructor(
    private readonly database: Database,
    private readonly installations: InstallationsRepository,
    private readonly counters: CountersRepository,
    private readonly client: ParleyClient,
  ) {}

  /** Safe to repeat: ignores a report that is not newer than the stored one. */
  @Consumes(countInstallations)
  async report(report: InstallationsChanged): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (!(await this.installations.isNews(tx, report))) return;
      const before = await this.installations.replace(tx, report);
      const now = report.integrations.map(({ id }) => id);
      await this.counters.add(tx, difference(before, now));
    });
  }

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

/** Counts each bot once per version, however many aliases it has for it. */
function difference(before: string[], now: string[]): Counted[] {
  const [old, present] = [new Set(before), new Set(now)];
  return [
    ...[...present].filter((id) => !old.has(id)).map((integrationId) => ({ integrationId, installs: 1 })),
    ...[...old].filter((id) => !present.has(id)).map((integrationId) => ({ integrationId, installs: -1 })),
  ];
}
