import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type IssueEvent, type ListIssues, maxIssueEvents } from '@parley/contracts/runtime/issues';
import { Database, type Sql } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { Repository } from 'typeorm';
import { isNotErased } from './erasure-queue';
import { IssueEntity, type IssueRow } from './issue.entity';

export type NewIssue = Omit<IssueEntity, 'created_at' | 'last_seen_at'> & { created_at: string; last_seen_at: string };

const columns = `bot_id, id, code, category, title, description, grouped_data, events_count, created_at, last_seen_at`;
const newestFirst = new Keyset<IssueRow>(
  [
    { sql: 'last_seen_at', type: 'timestamptz', of: (row) => row.last_seen_at },
    { sql: 'id', type: 'text', of: (row) => row.id },
  ],
  'desc',
);

@Injectable()
export class IssuesRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(IssueEntity) private readonly issues: Repository<IssueEntity>,
  ) {}

  /**
   * Creates issues, or adds to those with the same fingerprint, locked in one order. Returns the bots with a new issue.
   * None of a bot that is being erased. Index issue_fingerprint.
   */
  async addToIssues(issues: NewIssue[], sql: Sql = this.database): Promise<Set<string>> {
    const rows = await sql.query<{ bot_id: string; is_new: boolean }>(
      `INSERT INTO issue
       SELECT * FROM jsonb_populate_recordset(NULL::issue, $1) AS added WHERE ${isNotErased('added.bot_id')}
       ORDER BY bot_id, fingerprint
       ON CONFLICT (bot_id, fingerprint) DO UPDATE SET title = excluded.title, description = excluded.description,
         category = excluded.category, events_count = issue.events_count + excluded.events_count,
         last_seen_at = greatest(issue.last_seen_at, excluded.last_seen_at),
         events = jsonb_path_query_array(excluded.events || issue.events, '$[0 to ${maxIssueEvents - 1}]')
       RETURNING bot_id, xmax = 0 AS is_new`,
      [toJsonb(issues)],
    );
    return new Set(rows.filter(({ is_new }) => is_new).map(({ bot_id }) => bot_id));
  }

  /** Deletes the issues of the bot that were seen longest ago. Index issue_of_bot. */
  async deleteBeyond(botId: string, kept: number, sql: Sql = this.database): Promise<void> {
    await sql.query(
      `DELETE FROM issue WHERE bot_id = $1 AND id = ANY (ARRAY(
         SELECT id FROM issue WHERE bot_id = $1 ORDER BY last_seen_at DESC, id DESC OFFSET $2))`,
      [botId, kept],
    );
  }

  /** Index issue_of_bot. */
  async listIssues({ id: botId, ...query }: ListIssues): Promise<{ rows: IssueRow[]; nextToken?: string }> {
    const limit = pageSize(query);
    const values: unknown[] = [botId];
    const rows = await this.database.query<IssueRow>(
      `SELECT ${columns} FROM issue WHERE bot_id = $1 AND ${newestFirst.after(query.nextToken, botId, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, botId);
  }

  /** Primary key. */
  async findIssueById(botId: string, id: string): Promise<IssueRow | undefined> {
    const [row] = await this.database.query<IssueRow>(`SELECT ${columns} FROM issue WHERE bot_id = $1 AND id = $2`, [
      botId,
      id,
    ]);
    return row;
  }

  async findEventsOfIssue(botId: string, id: string): Promise<IssueEvent[] | undefined> {
    const issue = await this.issues.findOne({ where: { bot_id: botId, id }, select: { events: true, id: true } });
    return issue?.events;
  }

  /** False if there is no such issue. */
  async deleteIssue(botId: string, id: string): Promise<boolean> {
    const { affected } = await this.issues.delete({ bot_id: botId, id });
    return affected === 1;
  }

  /** Index issue_seen. */
  async deleteSeenBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'issue', 'last_seen_at', days * 24);
  }

  async deleteOfBot(botId: string): Promise<void> {
    await this.issues.delete({ bot_id: botId });
  }

  countOfBot(botId: string): Promise<number> {
    return this.issues.countBy({ bot_id: botId });
  }
}
