import { Injectable } from '@nestjs/common';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { Preference, PreferenceKey, SetPreference } from '@parley/contracts/admin/preferences';
import { Database, type Sql } from '@parley/persistence/database';
import { AuditRepository } from '../access/audit.repository';
import { type PreferenceOwner, PreferencesRepository } from './preferences.repository';

/** Key-value storage for clients. No service reads the values. */
@Injectable()
export class PreferencesService {
  constructor(
    private readonly database: Database,
    private readonly preferences: PreferencesRepository,
    private readonly audit: AuditRepository,
  ) {}

  getOfAccount({ account }: AccountCaller, { key }: PreferenceKey): Promise<Preference> {
    return this.preferences.findValue({ kind: 'account', id: account.id }, key);
  }

  async setOfAccount({ account }: AccountCaller, input: SetPreference) {
    await this.set(this.database, { kind: 'account', id: account.id }, input);
    return {};
  }

  getOfWorkspace({ workspace }: WorkspaceCaller, { key }: PreferenceKey): Promise<Preference> {
    return this.preferences.findValue({ kind: 'workspace', id: workspace.id }, key);
  }

  async setOfWorkspace(caller: WorkspaceCaller, input: SetPreference) {
    const { id } = caller.workspace;
    await this.database.transaction(async (tx) => {
      await this.set(tx, { kind: 'workspace', id }, input);
      await this.audit.insertChange(tx, caller, {
        workspaceId: id,
        action: 'UNKNOWN',
        operation: admin.workspacePreferences.set,
        resourceName: input.key,
      });
    });
    return {};
  }

  private async set(sql: Sql, owner: PreferenceOwner, { key, value }: SetPreference): Promise<void> {
    if (value === undefined) await this.preferences.deleteValue(sql, owner, key);
    else await this.preferences.upsertValue(sql, owner, key, value);
  }
}
