import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { lexiconVersion } from '@parley/passages/lexicon';
import { Database } from '@parley/persistence/database';
import { LessThan, type Repository } from 'typeorm';
import { hasSearchableColumn, TableEntity } from '../tables/table.entity';
import type { UnindexedRow } from './unindexed-rows.repository';

/** Tables whose rows have words of an older lexicon. */
@Injectable()
export class WordedTablesRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(TableEntity) private readonly tables: Repository<TableEntity>,
  ) {}

  /** Index: table_lexicon. */
  listOld(): Promise<Pick<TableEntity, 'number' | 'bot_id'>[]> {
    return this.database.query(
      `SELECT number, bot_id FROM "table" WHERE lexicon < $1 AND ${hasSearchableColumn} ORDER BY number`,
      [lexiconVersion],
    );
  }

  /** Row at which the table continues; null when its words are those of this version. */
  async findNextRow(tableNumber: string): Promise<number | null> {
    const table = await this.tables.findOneBy({ number: tableNumber, lexicon: LessThan(lexiconVersion) });
    return table?.next_worded_id ?? null;
  }

  /** Rows that do not wait for the index, which gives them new words anyway. Index: the primary key. */
  listRows(tableNumber: string, fromId: number, limit: number): Promise<UnindexedRow[]> {
    return this.database.query<UnindexedRow>(
      'SELECT id, data, revision FROM row WHERE table_number = $1 AND id >= $2 AND NOT unindexed ORDER BY id LIMIT $3',
      [tableNumber, fromId, limit],
    );
  }

  async saveNextRow(tableNumber: string, next: number | null): Promise<void> {
    const changed = next === null ? { lexicon: lexiconVersion, next_worded_id: 0 } : { next_worded_id: next };
    await this.tables.update({ number: tableNumber }, changed);
  }
}
