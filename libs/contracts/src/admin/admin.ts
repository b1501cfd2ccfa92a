import { deadLetterOperations } from '../dead-letters';
import { accounts } from './accounts';
import { bots } from './bots';
import { identity } from './identity';
import { installations } from './installations';
import { integrationApiKeys } from './integration-keys';
import { botApiKeys, personalAccessTokens } from './tokens';
import { workspaces } from './workspaces';

/** Everything that the admin service answers. */
export const admin = {
  accounts,
  bots,
  botApiKeys,
  deadLetters: deadLetterOperations('admin'),
  identity,
  installations,
  integrationApiKeys,
  personalAccessTokens,
  workspaces,
};
