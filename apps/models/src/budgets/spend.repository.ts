import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';

export interface Amount {
  /** Billionths of a US dollar. */
  cost: number;
  tokens: number;
}

export interface Payer {
  botId: string;
  workspaceId: string;
  /** UTC, formatted as 2026-01. */
  month: string;
}

/** A row of `model_call`, without id and payer. */
export interface CallRecord {
  kind: string;
  wanted_model: string;
  conversation_id?: string;
  event_id?: string;
  trace_id?: string;
  provider?: string;
  model?: string;
  input_tokens: number;
  output_tokens: number;
  cost: number;
  is_estimated: boolean;
  is_cached: boolean;
  fallbacks: number;
  latency_ms: number;
  first_token_ms?: number;
  finish: string;
  error?: string;
}

/** Call that has cost nothing. */
export interface FreeCall extends CallRecord {
  id: string;
  bot_id: string;
  workspace_id: string;
}

export interface Exceeded {
  scope: 'bot' | 'workspace';
  /** Version of its amounts. */
  version: string;
  max_cost: string | null;
  max_tokens: string | null;
}

/** Use of a budget after a call, where a budget exists. */
export interface UsedBudget extends Exceeded {
  scope_id: string;
  cost: string;
  tokens: string;
}

interface Verdict extends Exceeded {
  is_complete: boolean;
  is_limited: boolean;
  fits: boolean;
}

export interface Reserved {
  /** Budget that the call might exceed: nothing was reserved. */
  exceeded?: Exceeded;
  /** Whether a budget applies. */
  isLimited: boolean;
}

/** A call that ends after the erasure of its bot leaves nothing behind. */
const isOfExistingBot = 'NOT EXISTS (SELECT 1 FROM deleted_bot WHERE deleted_bot.bot_id = gone.bot_id)';
const callColumns = `kind, provider, model, wanted_model, conversation_id, event_id, trace_id, input_tokens,
  output_tokens, cost, is_estimated, is_cached, fallbacks, latency_ms, first_token_ms, finish, error`;
const callTypes = `kind text, provider text, model text, wanted_model text, conversation_id text, event_id text,
  trace_id text, input_tokens bigint, output_tokens bigint, cost bigint, is_estimated boolean, is_cached boolean,
  fallbacks integer, latency_ms integer, first_token_ms integer, finish text, error text`;

@Injectable()
export class SpendRepository {
  constructor(private readonly database: Database) {}

  /**
   * Reserves the most that a call can cost, for its bot and its workspace, unless settled and reserved amounts together would
   * exceed a budget: then nothing changes. The rows are locked in one order.
   */
  async reserve(id: string, { botId, workspaceId, month }: Payer, most: Amount, call: object): Promise<Reserved> {
    const [verdict] = await this.database.query<Verdict>(
      `WITH locked AS MATERIALIZED (
         SELECT scope, scope_id, settled_cost + reserved_cost AS cost, settled_tokens + reserved_tokens AS tokens
         FROM spend WHERE month = $4 AND ((scope = 'bot' AND scope_id = $2) OR (scope = 'workspace' AND scope_id = $3))
         ORDER BY scope FOR UPDATE
       ), checked AS MATERIALIZED (
         SELECT locked.scope, version, max_cost, max_tokens,
           coalesce(locked.cost + $5 <= max_cost, true) AND coalesce(locked.tokens + $6 <= max_tokens, true) AS fits
         FROM locked LEFT JOIN budget USING (scope, scope_id)
       ), verdict AS MATERIALIZED (
         SELECT count(*) = 2 AS is_complete, count(*) = 2 AND bool_and(fits) AS fits,
           coalesce(bool_or(max_cost IS NOT NULL OR max_tokens IS NOT NULL), false) AS is_limited FROM checked
       ), added AS (
         UPDATE spend SET reserved_cost = reserved_cost + $5, reserved_tokens = reserved_tokens + $6
         WHERE month = $4 AND ((scope = 'bot' AND scope_id = $2) OR (scope = 'workspace' AND scope_id = $3))
           AND (SELECT fits FROM verdict)
       ), inserted AS (
         INSERT INTO reservation (id, bot_id, workspace_id, month, cost, tokens, call)
         SELECT $1, $2, $3, $4, $5, $6, $7 FROM verdict WHERE fits
       )
       SELECT verdict.is_complete, verdict.is_limited, verdict.fits, checked.scope, checked.version, checked.max_cost, checked.max_tokens
       FROM verdict LEFT JOIN checked ON NOT checked.fits ORDER BY checked.scope LIMIT 1`,
      [id, botId, workspaceId, month, most.cost, most.tokens, JSON.stringify(call)],
      'reserve',
    );
    const { is_complete: isComplete, is_limited: isLimited, fits } = verdict!;
    if (isComplete) return fits ? { isLimited } : { isLimited, exceeded: verdict };
    await this.insertMonth(botId, workspaceId, month);
    return this.reserve(id, { botId, workspaceId, month }, most, call);
  }

  /**
   * Ends a reservation with what the call has cost, and records the call. Idempotent: nothing happens without the reservation.
   * Returns the budgets that apply.
   */
  settle(id: string, used: Amount, call: CallRecord): Promise<UsedBudget[]> {
    return this.database.query<UsedBudget>(
      `WITH gone AS MATERIALIZED (DELETE FROM reservation WHERE id = $1 RETURNING *),
       ${settlement('$2::bigint', '$3::bigint')},
       recorded AS (
         INSERT INTO model_call (id, bot_id, workspace_id, ${callColumns})
         SELECT gone.id, gone.bot_id, gone.workspace_id, call.*
         FROM gone, jsonb_to_record($4::jsonb) AS call (${callTypes})
         WHERE ${isOfExistingBot}
       )
       SELECT settled.scope, settled.scope_id, settled_cost AS cost, settled_tokens AS tokens, version, max_cost, max_tokens
       FROM settled JOIN budget USING (scope, scope_id)`,
      [id, used.cost, used.tokens, JSON.stringify(call)],
      'settle',
    );
  }

  /** Records calls that have cost nothing. Safe to repeat. */
  async recordFree(calls: FreeCall[]): Promise<void> {
    await this.database.query(
      `INSERT INTO model_call (id, bot_id, workspace_id, ${callColumns})
       SELECT gone.* FROM jsonb_to_recordset($1::jsonb) AS gone (id text, bot_id text, workspace_id text, ${callTypes})
       WHERE ${isOfExistingBot} ON CONFLICT (id) DO NOTHING`,
      [JSON.stringify(calls)],
      'record_free_calls',
    );
  }

  /** Keeps the reservations of calls under way, with the use so far of those that stream. */
  async renew(calls: { id: string; used?: Amount }[]): Promise<void> {
    await this.database.query(
      `UPDATE reservation SET renewed_at = now(), streamed_cost = given.cost, streamed_tokens = given.tokens
       FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS given (id, cost, tokens) WHERE reservation.id = given.id`,
      [calls.map(({ id }) => id), calls.map(({ used }) => used?.cost), calls.map(({ used }) => used?.tokens)],
    );
  }

  /**
   * Settles a reservation whose process died: at what had streamed, else at its full amount. Returns whether there was one.
   * Index: reservation_renewed.
   */
  async settleLapsed(lapseSeconds: number): Promise<boolean> {
    const rows = await this.database.query(
      `WITH gone AS MATERIALIZED (
         DELETE FROM reservation WHERE id = (
           SELECT id FROM reservation WHERE renewed_at < now() - make_interval(secs => $1)
           ORDER BY renewed_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING *),
       ${settlement('coalesce(gone.streamed_cost, gone.cost)', 'coalesce(gone.streamed_tokens, gone.tokens)')},
       recorded AS (
         INSERT INTO model_call (id, bot_id, workspace_id, kind, wanted_model, conversation_id, event_id, trace_id,
           input_tokens, output_tokens, cost, is_estimated, is_cached, fallbacks, latency_ms, finish, error)
         SELECT gone.id, bot_id, workspace_id, call.kind, call.wanted_model, call.conversation_id, call.event_id,
           call.trace_id, coalesce(streamed_tokens, tokens), 0, coalesce(streamed_cost, cost), true, false, 0, 0,
           'error', 'The process ended during the call.'
         FROM gone, jsonb_to_record(gone.call) AS call (kind text, wanted_model text, conversation_id text,
           event_id text, trace_id text)
         WHERE ${isOfExistingBot}
       )
       SELECT 1 FROM gone`,
      [lapseSeconds],
    );
    return rows.length > 0;
  }

  deleteOldCalls(hours: number): Promise<void> {
    return deleteOlder(this.database, 'model_call', 'created_at', hours);
  }

  async deleteNoticesBefore(month: string): Promise<void> {
    await this.database.query('DELETE FROM budget_notice WHERE month < $1', [month]);
  }

  private async insertMonth(botId: string, workspaceId: string, month: string): Promise<void> {
    await this.database.query(
      `INSERT INTO spend (scope, scope_id, month) VALUES ('bot', $1, $3), ('workspace', $2, $3) ON CONFLICT DO NOTHING`,
      [botId, workspaceId, month],
    );
  }
}

/** Moves the amount of `gone` from the reserved to the settled ones, with both rows locked in the order of `reserve`. */
function settlement(cost: string, tokens: string): string {
  const isOfPayer = `spend.month = gone.month AND ((spend.scope = 'bot' AND spend.scope_id = gone.bot_id)
    OR (spend.scope = 'workspace' AND spend.scope_id = gone.workspace_id))`;
  return `locked AS MATERIALIZED (
      SELECT 1 FROM spend, gone WHERE ${isOfPayer} ORDER BY spend.scope FOR UPDATE OF spend
    ), settled AS (
      UPDATE spend SET reserved_cost = reserved_cost - gone.cost, reserved_tokens = reserved_tokens - gone.tokens,
        settled_cost = settled_cost + ${cost}, settled_tokens = settled_tokens + ${tokens}
      FROM gone WHERE ${isOfPayer} AND (SELECT count(*) FROM locked) >= 0
      RETURNING spend.scope, spend.scope_id, spend.settled_cost, spend.settled_tokens
    )`;
}
