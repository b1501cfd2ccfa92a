import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { Consumes } from '@parley/bus/handles';
import { hasPermission } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { countInstallations, type InstallationsChanged } from '@parley/contracts/admin/installations';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { type Counted, CountersRepository } from '../counters/counters.repository';
import { InstallationsRepository } from './installations.repository';

/** What bots have installed, as admin tells it. */
@Injectable()
export class InstallationsService {
  constructor(
    private readonly database: Database,
    private readonly installations: InstallationsRepository,
    private readonly counters: CountersRepository,
    private readonly bus: Bus,
  ) {}

  /** Safe to repeat: a report that is not newer than the one before changes nothing. */
  @Consumes(countInstallations)
  async report(report: InstallationsChanged): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (!(await this.installations.isNews(tx, report))) return;
      const before = await this.installations.replace(tx, report);
      const now = report.integrations.map(({ id }) => id);
      await this.counters.add(tx, difference(before, now));
    });
  }

  /** Throws Forbidden, in the same words for a bot that does not exist and for one that the caller may not read. */
  async requireBotReader(caller: Caller, botId: string): Promise<void> {
    const accountId = caller.account?.id ?? '';
    const { role } = await this.bus.call(admin.identity.roleInBot, caller, { accountId, botId });
    if (role && hasPermission(role, 'read')) return;
    throw new ApiError('Forbidden', `installedByBotId "${botId}" names nothing that this token may read.`);
  }

  /** Throws ReferenceConstraint for what a bot has installed: admin knows, also what it has not told yet. */
  async requireUnused(caller: Caller, kind: 'integration' | 'plugin', id: string): Promise<void> {
    const { count } = await this.bus.call(admin.installations.count, caller, { id });
    if (count === 0) return;
    throw new ApiError(
      'ReferenceConstraint',
      `Bots have ${kind} "${id}" installed: it cannot be deleted before they do not.`,
    );
  }
}

/** A bot counts once, under however many aliases it has the same version. */
function difference(before: string[], now: string[]): Counted[] {
  const [old, present] = [new Set(before), new Set(now)];
  return [
    ...[...present].filter((id) => !old.has(id)).map((integrationId) => ({ integrationId, installs: 1 })),
    ...[...old].filter((id) => !present.has(id)).map((integrationId) => ({ integrationId, installs: -1 })),
  ];
}
