import { Injectable } from '@nestjs/common';
import {
  type DailyUsageQuery,
  monthlyUsage,
  type UsageActivityQuery,
  type UsageChanged,
  type UsageType,
  usageTypes,
} from '@parley/contracts/admin/usage';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { MemberEntity } from '../access/member.entity';
import type { OwnUsageType } from './quota-amounts';
import { type AmountRow, dayOf, type UsageRow, type UsageSubject } from './usage.entity';

const countedTables: Record<OwnUsageType, string> = {
  bot_count: 'bot',
  workspace_member_count: 'workspace_member',
};
const newestFirst = new Keyset<UsageRow>([
  { sql: 'changed_at', type: 'timestamptz', of: (row) => row.changed_at },
  { sql: 'bot_id', type: 'text', of: (row) => row.bot_id },
]);
const lastDayFirst = new Keyset<UsageRow>([
  { sql: 'day', type: 'text', of: (row) => row.day },
  { sql: 'bot_id', type: 'text', of: (row) => row.bot_id },
]);
const today = "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
const replace = `ON CONFLICT (workspace_id, type, bot_id, day) DO UPDATE
  SET value = excluded.value, changed_at = excluded.changed_at`;
const replaceOlder = `${replace} WHERE usage.changed_at <= excluded.changed_at`;
/** Usage types that are levels, not monthly sums: a bot holds its amount until it changes. */
const heldTypes = usageTypes.filter((type) => !monthlyUsage.includes(type));
/**
 * Amounts that bot $1 holds in workspace $2, of the types $3: one lookup in the primary key per type. With the two
 * bounds on `bot_id`, only the primary key has the requested order; with an equality, Postgres was seen to search all
 * of the last days for the bot.
 */
const held = `(
  SELECT requested.type, latest.value FROM unnest($3::text[]) AS requested (type) CROSS JOIN LATERAL (
    SELECT value FROM usage WHERE workspace_id = $2 AND type = requested.type AND bot_id >= $1 AND bot_id <= $1
    ORDER BY bot_id DESC, day DESC LIMIT 1
  ) latest WHERE latest.value <> 0
) held`;

/** SQL expressions of a query; `botId` is the empty text for the whole workspace. */
interface LatestValuesQuery {
  workspaceId: string;
  botId: string;
  type: string;
  period: string;
  monthly: string;
}

/**
 * Skip scan: the last value of each bot until the end of the month. It jumps from bot to bot with a few lookups in the
 * primary key for each, however many days are stored. Bounds as in `held`.
 */
const latestValues = ({ workspaceId, botId, type, period, monthly }: LatestValuesQuery) => `
  WITH RECURSIVE counted AS (
    SELECT CASE ${botId} WHEN '' THEN (
        SELECT bot_id FROM usage WHERE workspace_id = ${workspaceId} AND type >= ${type} AND type <= ${type}
        ORDER BY type, bot_id LIMIT 1)
      ELSE ${botId} END COLLATE "C" AS bot_id
    UNION ALL
    SELECT (
      SELECT bot_id FROM usage
      WHERE workspace_id = ${workspaceId} AND (type, bot_id) > (${type}, counted.bot_id) AND type <= ${type}
      ORDER BY type, bot_id LIMIT 1)
    FROM counted WHERE counted.bot_id IS NOT NULL AND ${botId} = '')
  SELECT counted.bot_id, latest.value FROM counted CROSS JOIN LATERAL (
    SELECT value FROM usage
    WHERE workspace_id = ${workspaceId} AND type = ${type} AND (bot_id, day) <= (counted.bot_id, ${period} || '-31')
      AND (bot_id, day) >= (counted.bot_id, CASE WHEN ${type} = ANY(${monthly}) THEN ${period} ELSE '' END)
    ORDER BY bot_id DESC, day DESC LIMIT 1) latest`;

/**
 * Usage per day. Monthly types (`monthlyUsage`) start at zero each month; all others hold until the next recorded
 * amount.
 */
@Injectable()
export class UsageRepository {
  constructor(private readonly database: Database) {}

  /**
   * Keeps the newest amount of a day. Assigns it to the current workspace of the bot, and drops held types of a deleted
   * bot. Adds the storage that admin reserved for recurring events to a reported storage_count.
   */
  async upsertReported({ workspaceId, botId = '', type, value, at }: UsageChanged): Promise<void> {
    await this.database.query(
      `INSERT INTO usage (workspace_id, bot_id, type, day, value, changed_at)
       SELECT workspace.id, $2, $3, $4,
         $5::float8 + CASE $3 WHEN 'storage_count' THEN coalesce(bot.recurring_bytes, 0) ELSE 0 END, $6
       FROM workspace LEFT JOIN bot ON bot.id = $2
       WHERE workspace.id = coalesce(bot.workspace_id, $1) AND ($2 = '' OR bot.id IS NOT NULL OR $7)
       FOR KEY SHARE OF workspace
       ${replaceOlder}`,
      [workspaceId, botId, type, dayOf(new Date(at)), value, at, monthlyUsage.includes(type)],
    );
  }

  async countOwn(sql: Sql, workspaceId: string, type: OwnUsageType): Promise<number> {
    const [row] = await sql.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${countedTables[type]} WHERE workspace_id = $1`,
      [workspaceId],
    );
    return row!.count;
  }

  /** Stores a count from admin's own tables. Needs the workspace lock. */
  async upsertOwn(tx: Transaction, workspaceId: string, type: OwnUsageType, value: number): Promise<void> {
    await tx.query(
      `INSERT INTO usage (workspace_id, bot_id, type, day, value, changed_at)
       VALUES ($1, '', $2, ${today}, $3, now()) ${replace}`,
      [workspaceId, type, value],
    );
  }

  /**
   * Replaces the storage reserved for the recurring events of a locked bot; returns the former reservation. The row's
   * time lies up to a minute back, so that storage reports of the files service under way, which arrive within seconds,
   * still count.
   */
  async reserveRecurringBytes(tx: Transaction, workspaceId: string, botId: string, bytes: number): Promise<number> {
    const [before] = await tx.query<{ bytes: string }>(
      `UPDATE bot SET recurring_bytes = $2 FROM (SELECT recurring_bytes FROM bot WHERE id = $1) AS former
       WHERE id = $1 RETURNING former.recurring_bytes AS bytes`,
      [botId, bytes],
    );
    const more = bytes - Number(before!.bytes);
    if (more === 0) return bytes;
    await tx.query(
      `INSERT INTO usage (workspace_id, bot_id, type, day, value, changed_at)
       SELECT $2, $1, 'storage_count', ${today}, greatest(0, coalesce(latest.value, 0) + $3),
         greatest(latest.changed_at, now() - interval '1 minute')
       FROM (VALUES (1)) AS once LEFT JOIN LATERAL (
         SELECT value, changed_at FROM usage
         WHERE workspace_id = $2 AND type = 'storage_count' AND bot_id >= $1 AND bot_id <= $1
         ORDER BY bot_id DESC, day DESC LIMIT 1) AS latest ON true
       ${replace}`,
      [botId, workspaceId, more],
    );
    return Number(before!.bytes);
  }

  async endUsageOfBot(tx: Transaction, botId: string, workspaceId: string): Promise<void> {
    await tx.query(
      `INSERT INTO usage (workspace_id, bot_id, type, day, value, changed_at)
       SELECT workspace.id, $1, held.type, ${today}, 0, now() FROM ${held} JOIN workspace ON workspace.id = $2
       ${replace}`,
      [botId, workspaceId, heldTypes],
    );
  }

  /** Moves the held amounts of a bot, and its monthly usage of this month, to another workspace. */
  async moveUsageOfBot(tx: Transaction, botId: string, from: string, to: string): Promise<void> {
    await tx.query(
      `INSERT INTO usage (workspace_id, bot_id, type, day, value, changed_at)
       SELECT $4, $1, type, ${today}, value, now() FROM ${held} ${replace}`,
      [botId, from, heldTypes, to],
    );
    await this.endUsageOfBot(tx, botId, from);
    await tx.query(
      `UPDATE usage SET workspace_id = $4
       WHERE workspace_id = $2 AND bot_id = $1 AND type = ANY($3::text[]) AND day >= left(${today}, 7)`,
      [botId, from, monthlyUsage, to],
    );
  }

  listSubjects(accountId: string, ids: string[]): Promise<UsageSubject[]> {
    return this.database.query(
      `SELECT subject.* FROM (
         SELECT id, id AS workspace_id, '' AS bot_id FROM workspace WHERE id = ANY($2)
         UNION ALL
         SELECT id, workspace_id, id FROM bot WHERE id = ANY($2)
       ) subject
       JOIN workspace_member member ON member.workspace_id = subject.workspace_id AND member.account_id = $1`,
      [accountId, ids],
    );
  }

  async listWorkspacesOf(accountId: string): Promise<UsageSubject[]> {
    const members = await this.database.manager.findBy(MemberEntity, { account_id: accountId });
    return members.map(({ workspace_id }) => ({ id: workspace_id, workspace_id, bot_id: '' }));
  }

  /** Amounts at the end of the month for each subject and type. Primary key. */
  async listAmounts(
    subjects: UsageSubject[],
    types: readonly UsageType[],
    period: string,
    sql: Sql = this.database,
  ): Promise<AmountRow[]> {
    return sql.query(
      `SELECT subject.id, requested.type, coalesce(sum(latest.value), 0) AS value
       FROM unnest($1::text[], $2::text[], $3::text[]) AS subject (id, workspace_id, bot_id)
       CROSS JOIN unnest($4::text[]) AS requested (type)
       LEFT JOIN LATERAL (${latestValues({
         workspaceId: 'subject.workspace_id',
         botId: 'subject.bot_id',
         type: 'requested.type',
         period: '$5',
         monthly: '$6::text[]',
       })}) latest ON true
       GROUP BY subject.id, requested.type`,
      [
        subjects.map(({ id }) => id),
        subjects.map(({ workspace_id }) => workspace_id),
        subjects.map(({ bot_id }) => bot_id),
        types,
        period,
        monthlyUsage,
      ],
    );
  }

  async listOwnAmounts(workspaceIds: string[]): Promise<(Record<OwnUsageType, number> & { id: string })[]> {
    return this.database.query(
      `SELECT counted.id, (SELECT count(*)::int FROM bot WHERE workspace_id = counted.id) AS bot_count,
              (SELECT count(*)::int FROM workspace_member WHERE workspace_id = counted.id) AS workspace_member_count
       FROM unnest($1::text[]) AS counted (id)`,
      [workspaceIds],
    );
  }

  listByBot(workspaceId: string, type: UsageType, period: string): Promise<{ bot_id: string; value: number }[]> {
    return this.database.query(
      `SELECT * FROM (${latestValues({
        workspaceId: '$1::text',
        botId: "''",
        type: '$2::text',
        period: '$3::text',
        monthly: '$4::text[]',
      })}) latest
       WHERE bot_id <> '' AND value <> 0 ORDER BY value DESC, bot_id`,
      [workspaceId, type, period, monthlyUsage],
    );
  }

  /** One row for each month with a change, and one for this month. Primary key, or usage_day for a whole workspace. */
  listHistory(subject: UsageSubject, type: UsageType, thisMonth: string): Promise<{ period: string; value: number }[]> {
    const [isBehind, order] = subject.bot_id
      ? ["(bot_id, day) > ($3, changed.period || '-31') AND bot_id <= $3", 'bot_id, day']
      : ["day > changed.period || '-31'", 'day'];
    return this.database.query(
      `WITH RECURSIVE changed AS (
         SELECT '' COLLATE "C" AS period
         UNION ALL
         SELECT (SELECT left(day, 7) FROM usage WHERE workspace_id = $1 AND type = $2 AND ${isBehind} ORDER BY ${order} LIMIT 1)
         FROM changed WHERE changed.period IS NOT NULL)
       SELECT month.period, coalesce(sum(latest.value), 0) AS value
       FROM unnest(ARRAY(SELECT period FROM changed WHERE period <> '' UNION SELECT $4)) AS month (period)
       LEFT JOIN LATERAL (${latestValues({
         workspaceId: '$1::text',
         botId: '$3::text',
         type: '$2::text',
         period: 'month.period',
         monthly: '$5::text[]',
       })}) latest ON true
       GROUP BY month.period ORDER BY month.period DESC`,
      [subject.workspace_id, type, subject.bot_id, thisMonth, monthlyUsage],
    );
  }

  listActivity(subject: UsageSubject, query: UsageActivityQuery) {
    const { type, timestampFrom, timestampUntil } = query;
    return this.page(newestFirst, subject, query, 'changed_at', 'timestamptz', [type, timestampFrom, timestampUntil]);
  }

  listDays(subject: UsageSubject, query: DailyUsageQuery) {
    const { type, dateFrom, dateUntil } = query;
    return this.page(lastDayFirst, subject, query, 'day', 'text', [type, dateFrom, dateUntil]);
  }

  private async page(
    keyset: Keyset<UsageRow>,
    { id, workspace_id, bot_id }: UsageSubject,
    query: UsageActivityQuery | DailyUsageQuery,
    column: 'changed_at' | 'day',
    columnType: 'timestamptz' | 'text',
    [type, from, until]: [UsageType, string | undefined, string | undefined],
  ) {
    const limit = pageSize(query);
    const boundTo = [id, type, from, until];
    const values: unknown[] = [workspace_id, bot_id, type, from ?? null, until ?? null];
    const rows = await this.database.query<UsageRow>(
      `SELECT workspace_id, bot_id, day, value, changed_at FROM usage
       WHERE workspace_id = $1 AND ($2 = '' OR bot_id = $2) AND type = $3
         AND ($4::${columnType} IS NULL OR ${column} >= $4) AND ($5::${columnType} IS NULL OR ${column} <= $5)
         AND ${keyset.after(query.nextToken, boundTo, values)}
       ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return keyset.page(rows, limit, boundTo);
  }
}
