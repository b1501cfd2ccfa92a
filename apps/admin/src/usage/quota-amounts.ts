import { limitTypes, type UsageType } from '@parley/contracts/admin/usage';
import type { AdminConfig } from '../config';

/** Usage types that admin counts in its own tables. */
export type OwnUsageType = 'bot_count' | 'workspace_member_count';

const amounts: Record<UsageType, (config: AdminConfig) => number> = {
  invocation_timeout: (config) => config.quotaInvocationTimeoutMs,
  invocation_calls: (config) => config.quotaInvocationCalls,
  storage_count: (config) => config.quotaStorageBytes,
  bot_count: (config) => config.quotaBotCount,
  knowledgebase_vector_storage: (config) => config.quotaVectorStorageBytes,
  workspace_ratelimit: (config) => config.quotaWorkspaceRateLimit,
  table_row_count: (config) => config.quotaTableRowCount,
  workspace_member_count: (config) => config.quotaWorkspaceMemberCount,
  integrations_owned_count: (config) => config.quotaIntegrationsOwnedCount,
  ai_spend: (config) => config.quotaAiSpend,
  openai_spend: (config) => config.quotaOpenaiSpend,
  bing_search_spend: (config) => config.quotaBingSearchSpend,
  always_alive: (config) => config.quotaAlwaysAlive,
  indexed_file_count: (config) => config.quotaIndexedFileCount,
  file_max_size_bytes: (config) => config.maxUploadBytes,
};

export function quotaOf(config: AdminConfig, type: UsageType): number {
  return amounts[type](config);
}

/** False for limits of a single call or file, which usage does not exhaust. */
export function isUsedUp(type: UsageType): boolean {
  return !limitTypes.includes(type);
}
