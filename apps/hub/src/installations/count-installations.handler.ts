import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import { countInstallations, type InstallationsChanged } from '@parley/contracts/admin/installations';
import { Database } from '@parley/persistence/database';
import { type CountChange, CountersRepository } from '../counters/counters.repository';
import { InstallationsRepository } from './installations.repository';

/** Copies the installations of bots from admin's events, and counts them. */
@Controller()
export class CountInstallationsHandler {
  constructor(
    private readonly database: Database,
    private readonly installations: InstallationsRepository,
    private readonly counters: CountersRepository,
  ) {}

  /** Safe to repeat: ignores a report that is not newer than the stored one. */
  @Consumes(countInstallations)
  async report(report: InstallationsChanged): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (!(await this.installations.saveNewerReport(tx, report))) return;
      const before = await this.installations.replaceOfBot(tx, report);
      const now = report.integrations.map(({ id }) => id);
      await this.counters.addCounts(tx, difference(before, now));
    });
  }
}

/** Counts each bot once per version, however many aliases it has for it. */
function difference(before: string[], now: string[]): CountChange[] {
  const [old, present] = [new Set(before), new Set(now)];
  return [
    ...[...present].filter((id) => !old.has(id)).map((integrationId) => ({ integrationId, installs: 1 })),
    ...[...old].filter((id) => !present.has(id)).map((integrationId) => ({ integrationId, installs: -1 })),
  ];
}
