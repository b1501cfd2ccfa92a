import { limitTypes, type UsageType } from '@parley/contracts/admin/usage';
import type { AdminConfig } from '../../config';

/** Usage types that admin counts in its own tables. */
export type OwnUsageType = 'bot_count' | 'workspace_member_count';

/** Quota of a usage type without a limit. The API has no other way to say so. */
export const unlimited = Number.MAX_SAFE_INTEGER;

const amounts: Record<UsageType, (config: AdminConfig) => number> = {
  invocation_timeout: (config) => config.quotaInvocationTimeoutMs,
  invocation_calls: (config) => config.quotaInvocationCalls,
  storage_count: (config) => config.quotaStorageBytes,
  bot_count: (config) => config.quotaBotCount,
  knowledgebase_vector_storage: (config) => config.quotaVectorStorageBytes,
  workspace_ratelimit: () => unlimited,
  table_row_count: () => unlimited,
  workspace_member_count: (config) => config.quotaWorkspaceMemberCount,
  integrations_owned_count: () => unlimited,
  ai_spend: () => unlimited,
  openai_spend: () => unlimited,
  bing_search_spend: () => unlimited,
  always_alive: () => unlimited,
  indexed_file_count: () => unlimited,
  file_max_size_bytes: (config) => config.maxUploadBytes,
};

export function quotaOf(config: AdminConfig, type: UsageType): number {
  return amounts[type](config);
}

/** False for limits of a single call or file, which usage does not exhaust. */
export function isUsedUp(type: UsageType): boolean {
  return !limitTypes.includes(type);
}
