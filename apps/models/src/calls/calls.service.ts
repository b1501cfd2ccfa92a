import { Injectable } from '@nestjs/common';
import type { ListModelCalls, ModelCall, ModelCalls } from '@parley/contracts/models/calls';
import type { ModelCallEntity } from '../budgets/model-call.entity';
import { CallsRepository } from './calls.repository';

const billionths = 1_000_000_000;

/** Records of calls, for the members of a workspace and for the bot. */
@Injectable()
export class CallsService {
  constructor(private readonly calls: CallsRepository) {}

  /** Throws InvalidQuery for an invalid token. */
  async list(botId: string, query: ListModelCalls): Promise<ModelCalls> {
    const { rows, nextToken } = await this.calls.list(botId, query);
    return { calls: rows.map(toCall), meta: { nextToken } };
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
    ...{ cost: Number(row.cost) / billionths, estimated: row.is_estimated, cached: row.is_cached },
    ...{ fallbacks: row.fallbacks, latency: row.latency_ms, finish: row.finish },
    ...(row.first_token_ms !== null && { ttft: row.first_token_ms }),
    ...(row.error !== null && { error: row.error }),
  };
}
