import { Injectable } from '@nestjs/common';
import type { ListModelCalls, ModelCall, ModelCalls } from '@parley/contracts/models/calls';
import { inDollars } from '../budgets/money';
import type { ModelCallEntity } from '../budgets/model-call.entity';
import { pageSize } from '@parley/persistence/keyset';
import { ContentsService } from '../contents/contents.service';
import { CallsRepository } from './calls.repository';

/** Calls of a page with their contents. */
const maxWhole = 10;

/** Records of calls, for the members of a workspace and for the bot. */
@Injectable()
export class CallsService {
  constructor(
    private readonly calls: CallsRepository,
    private readonly contents: ContentsService,
  ) {}

  /** Throws InvalidQuery for an invalid token. */
  async list(botId: string, query: ListModelCalls): Promise<ModelCalls> {
    const { contents: isWhole, ...filter } = query;
    const limit = isWhole ? Math.min(pageSize(query), maxWhole) : pageSize(query);
    const { rows, nextToken } = await this.calls.list(botId, { ...filter, limit });
    const ids = rows.map(({ id }) => id);
    const contents = isWhole ? await this.contents.list(botId, ids) : undefined;
    return { calls: rows.map((row) => ({ ...toCall(row), ...contents?.get(row.id) })), meta: { nextToken } };
  }
}

function toCall(row: ModelCallEntity): ModelCall {
  return {
    ...{ id: row.id, createdAt: row.created_at.toISOString(), kind: row.kind, wantedModel: row.wanted_model },
    ...{ model: row.model, provider: row.provider },
    ...(row.conversation_id !== null && { conversationId: row.conversation_id }),
    ...(row.event_id !== null && { eventId: row.event_id }),
    ...(row.trace_id !== null && { traceId: row.trace_id }),
    ...{ inputTokens: Number(row.input_tokens), outputTokens: Number(row.output_tokens) },
    ...{ cost: inDollars(row.cost), estimated: row.is_estimated, cached: row.is_cached },
    ...{ fallbacks: row.fallbacks, latency: row.latency_ms, finish: row.finish },
    ...(row.first_token_ms !== null && { ttft: row.first_token_ms }),
    ...(row.error !== null && { error: row.error }),
  };
}
