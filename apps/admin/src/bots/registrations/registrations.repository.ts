import { Injectable } from '@nestjs/common';
import type { InstallationStatus } from '@parley/contracts/admin/bot-integrations';
import type { PendingRegistration, RegisterSchedule } from '@parley/contracts/admin/registrations';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import type { DueRows } from '@parley/persistence/due-rows';
import { ApiError } from '@parley/contracts/errors';
import { isUniqueViolation } from '@parley/persistence/errors';
import { lockNext } from '@parley/persistence/lock-next';

/** Lengths of the schedules as intervals of Postgres. */
const intervals: Record<RegisterSchedule, string> = {
  hourly: '1 hour',
  daily: '1 day',
  weekly: '7 days',
  'bi-weekly': '14 days',
  monthly: '1 month',
  'bi-monthly': '2 months',
  quarterly: '3 months',
  yearly: '1 year',
};
/** Branches of a CASE on a schedule. */
const nextTimes = Object.entries(intervals)
  .map(([schedule, length]) => `WHEN '${schedule}' THEN now() + interval '${length}'`)
  .join(' ');
const isScheduled = 'register_at IS NOT NULL AND enabled AND is_callable';
const isTooFarAhead = `register_at > CASE register_schedule ${nextTimes} END`;
/** Former installations whose integration could not be notified in this time are forgotten. */
const maxFormerAge = '24 hours';

export interface RegistrationState {
  status: InstallationStatus;
  status_reason: string | null;
}

/** Installations that are too far ahead count as due. Index installation_register_at. */
export const dueRegistrations: DueRows = {
  table: 'installation',
  key: 'alias',
  time: 'register_at',
  where: isScheduled,
  orWhere: isTooFarAhead,
};

@Injectable()
export class RegistrationsRepository {
  constructor(private readonly database: Database) {}

  /** Former installations first, oldest first. Index installation_pkey and former_installation_bot. */
  async listPending(botId: string): Promise<PendingRegistration[]> {
    const rows = await this.database.query<PendingRegistration>(
      `SELECT 'unregister' AS kind, id, alias, 1 AS place FROM former_installation
       WHERE bot_id = $1 AND created_at > now() - interval '${maxFormerAge}'
       UNION ALL
       SELECT 'register', alias, alias, 2 FROM installation
       WHERE bot_id = $1 AND status = 'registration_pending' AND enabled AND is_callable
       ORDER BY place, id`,
      [botId],
    );
    return rows.map(({ kind, id, alias }) => ({ kind, id, alias }));
  }

  /** Has no effect on an installation that changed meanwhile. Primary key. */
  async storeOutcome(botId: string, alias: string, revision: number, failure: string | null): Promise<void> {
    await this.database.query(
      `UPDATE installation SET status = CASE WHEN $4::text IS NULL THEN 'registered' ELSE 'registration_failed' END,
         status_reason = $4, updated_at = now(),
         register_at = CASE register_schedule ${nextTimes} END
       WHERE bot_id = $1 AND alias = $2 AND registration_revision = $3 AND enabled`,
      [botId, alias, revision, failure],
    );
  }

  /** Forgets a former installation. If it is disabled now, that shows the outcome. Primary keys. */
  async settleFormer(botId: string, id: string, failure: string | null): Promise<void> {
    await this.database.query(
      `WITH former AS (DELETE FROM former_installation WHERE bot_id = $1 AND id = $2 RETURNING alias)
       UPDATE installation SET status_reason = $3, updated_at = now(),
         status = CASE WHEN $3::text IS NULL THEN 'unregistered' ELSE 'unregistration_failed' END
       FROM former WHERE bot_id = $1 AND installation.alias = former.alias AND status = 'unregistration_pending'`,
      [botId, id, failure],
    );
  }

  /** True if that is a change. Throws RelationConflict if another installation of the family has the identifier. Primary key. */
  async storeIdentifier(
    sql: Sql,
    botId: string,
    alias: string,
    identifier: string | null,
    family: string | null,
  ): Promise<boolean> {
    const rows = await sql
      .query(
        `UPDATE installation SET identifier = $3, family = $4, updated_at = now()
         WHERE bot_id = $1 AND alias = $2 AND (identifier, family) IS DISTINCT FROM ($3::text, $4::text) RETURNING 1`,
        [botId, alias, identifier, family],
      )
      .catch((error: unknown) => {
        if (isUniqueViolation(error, 'installation_identifier')) throw identifierTaken(identifier ?? '');
        throw error;
      });
    return rows.length > 0;
  }

  /** Takes the identifier from the installation of the family that has it. Index installation_identifier. */
  async releaseIdentifier(tx: Transaction, identifier: string, family: string): Promise<void> {
    await tx.query(
      'UPDATE installation SET identifier = NULL, family = NULL, updated_at = now() WHERE family = $1 AND identifier = $2',
      [family, identifier],
    );
  }

  /** Null ends the schedule. True if that is a change. Primary key. */
  async storeSchedule(botId: string, alias: string, schedule: RegisterSchedule | null): Promise<boolean> {
    const [row] = await this.database.query<{ isChanged: boolean }>(
      `WITH former AS (
         SELECT register_schedule FROM installation WHERE bot_id = $1 AND alias = $2 AND enabled FOR NO KEY UPDATE)
       UPDATE installation SET register_schedule = $3, register_at = CASE $3::text ${nextTimes} END
       FROM former WHERE bot_id = $1 AND alias = $2
       RETURNING former.register_schedule IS DISTINCT FROM $3::text AS "isChanged"`,
      [botId, alias, schedule],
    );
    return row?.isChanged ?? false;
  }

  /**
   * Makes installations whose time has come pending. Returns their bots, at most `limit`. Other processes skip them.
   * Index installation_register_at.
   */
  async startScheduled(tx: Transaction, limit: number): Promise<string[]> {
    const rows = await tx.query<{ bot_id: string }>(
      `UPDATE installation SET status = 'registration_pending', registration_revision = registration_revision + 1,
         register_at = CASE register_schedule ${nextTimes} END
       WHERE (bot_id, alias) IN (
         ${lockNext({
           table: 'installation',
           columns: 'bot_id, alias',
           where: `${isScheduled} AND register_at <= now()`,
           orderBy: 'register_at',
           limit: '$1',
         })})
       RETURNING bot_id`,
      [limit],
    );
    return [...new Set(rows.map(({ bot_id }) => bot_id))];
  }

  /**
   * Clock skew: computes the next time anew if it is more than one period ahead, because the clock went ahead and back.
   * Reads all installations with a schedule. Index installation_register_at.
   */
  async rescheduleTooFarAhead(): Promise<void> {
    await this.database.query(
      `UPDATE installation SET register_at = CASE register_schedule ${nextTimes} END
       WHERE register_at IS NOT NULL AND ${isTooFarAhead}`,
    );
  }

  /** Undefined unless the installation is enabled, in that state if one is given, and its integration can be called. Primary key. */
  async startAgain(
    tx: Transaction,
    botId: string,
    alias: string,
    from?: InstallationStatus,
  ): Promise<RegistrationState | undefined> {
    const [row] = await tx.query<RegistrationState>(
      `UPDATE installation SET status = 'registration_pending', status_reason = NULL,
         registration_revision = registration_revision + 1, updated_at = now()
       WHERE bot_id = $1 AND alias = $2 AND enabled AND is_callable AND status = coalesce($3::text, status)
       RETURNING status, status_reason`,
      [botId, alias, from],
    );
    return row;
  }

  /** Primary key. */
  async findState(botId: string, alias: string): Promise<(RegistrationState & { name: string }) | undefined> {
    const [row] = await this.database.query<RegistrationState & { name: string }>(
      `SELECT status, status_reason, summary ->> 'name' AS name FROM installation WHERE bot_id = $1 AND alias = $2`,
      [botId, alias],
    );
    return row;
  }

  /** Index former_installation_created. */
  async deleteOldFormer(): Promise<void> {
    await this.database.query(`DELETE FROM former_installation WHERE created_at <= now() - interval '${maxFormerAge}'`);
  }
}

function identifierTaken(identifier: string): ApiError {
  return new ApiError(
    'RelationConflict',
    `identifier: another installation of this integration has the identifier "${identifier}" already.`,
  );
}
