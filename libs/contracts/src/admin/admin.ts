import { deadLetterOperations } from '../dead-letters';
import { workOperations } from '../work';
import { sealedTextOperations } from '../sealed-texts';
import { accounts } from './accounts';
import { auditRecords } from './audit';
import { billing } from './billing';
import { botAllowlist } from './bot-allowlist';
import { botCode } from './bot-code';
import { botVersions } from './bot-versions';
import { botVisibility } from './bot-visibility';
import { bots } from './bots';
import { budgets } from './budgets';
import { consoleLinks, consoleSessions } from './console';
import { identity } from './identity';
import { operatorAccess } from './operators';
import { installationLinks } from './installation-links';
import { installations } from './installations';
import { integrationApiKeys } from './integration-keys';
import { shareableIds } from './shareable-ids';
import { introspection } from './introspection';
import { members } from './members';
import { accountPreferences, workspacePreferences } from './preferences';
import { botDefinitions } from './bot-definitions';
import { registrations } from './registrations';
import { runtimeKeys } from './runtime-keys';
import { targets } from './targets';
import { botApiKeys, personalAccessTokens } from './tokens';
import { quotas, usage } from './usage';
import { webchats } from './webchats';
import { workspaces } from './workspaces';

export const admin = {
  accountPreferences,
  accounts,
  auditRecords,
  billing,
  bots,
  budgets,
  botAllowlist,
  botApiKeys,
  botCode,
  botVersions,
  botVisibility,
  consoleLinks,
  consoleSessions,
  deadLetters: deadLetterOperations('admin'),
  identity,
  installationLinks,
  installations,
  integrationApiKeys,
  introspection,
  members,
  operatorAccess,
  personalAccessTokens,
  shareableIds,
  quotas,
  registrations,
  runtimeKeys,
  botDefinitions,
  sealedTexts: sealedTextOperations('admin'),
  targets,
  usage,
  webchats,
  work: workOperations('admin'),
  workspacePreferences,
  workspaces,
};
