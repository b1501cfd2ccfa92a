import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Sql } from '@parley/persistence/database';
import type { Repository } from 'typeorm';
import { AccountPreferenceEntity, WorkspacePreferenceEntity } from './preference.entity';

export interface PreferenceOwner {
  kind: 'account' | 'workspace';
  id: string;
}

/** One table per kind of owner: `account_preference` refers to `account` by `account_id`. */
@Injectable()
export class PreferencesRepository {
  constructor(
    @InjectRepository(AccountPreferenceEntity) private readonly ofAccounts: Repository<AccountPreferenceEntity>,
    @InjectRepository(WorkspacePreferenceEntity) private readonly ofWorkspaces: Repository<WorkspacePreferenceEntity>,
  ) {}

  /** Value of the preference, which may be null; `value` is absent when nothing is stored. */
  async findValue({ kind, id }: PreferenceOwner, key: string): Promise<{ value?: unknown }> {
    const row =
      kind === 'account'
        ? await this.ofAccounts.findOneBy({ account_id: id, key })
        : await this.ofWorkspaces.findOneBy({ workspace_id: id, key });
    return row ? { value: row.value } : {};
  }

  /** No-op when the owner is gone. */
  async upsertValue(sql: Sql, { kind, id }: PreferenceOwner, key: string, value: unknown): Promise<void> {
    await sql.query(
      `INSERT INTO ${kind}_preference (${kind}_id, key, value)
       SELECT id, $2, $3::json FROM ${kind} WHERE id = $1 FOR KEY SHARE
       ON CONFLICT (${kind}_id, key) DO UPDATE SET value = excluded.value`,
      [id, key, JSON.stringify(value)],
    );
  }

  async deleteValue(sql: Sql, { kind, id }: PreferenceOwner, key: string): Promise<void> {
    if (kind === 'account') await sql.manager.delete(AccountPreferenceEntity, { account_id: id, key });
    else await sql.manager.delete(WorkspacePreferenceEntity, { workspace_id: id, key });
  }
}
