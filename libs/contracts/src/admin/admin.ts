import { deadLetterOperations } from '../dead-letters';
import { accounts } from './accounts';
import { auditRecords } from './audit';
import { bots } from './bots';
import { identity } from './identity';
import { installations } from './installations';
import { integrationApiKeys } from './integration-keys';
import { shareableIds } from './shareable-ids';
import { introspection } from './introspection';
import { members } from './members';
import { accountPreferences, workspacePreferences } from './preferences';
import { botApiKeys, personalAccessTokens } from './tokens';
import { workspaces } from './workspaces';

/** Everything that the admin service answers. */
export const admin = {
  accountPreferences,
  accounts,
  auditRecords,
  bots,
  botApiKeys,
  deadLetters: deadLetterOperations('admin'),
  identity,
  installations,
  integrationApiKeys,
  introspection,
  members,
  personalAccessTokens,
  shareableIds,
  workspacePreferences,
  workspaces,
};
