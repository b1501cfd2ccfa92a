import { deadLetterOperations } from '../dead-letters';
import { accounts } from './accounts';
import { botAllowlist } from './bot-allowlist';
import { botVersions } from './bot-versions';
import { bots } from './bots';
import { identity } from './identity';
import { botApiKeys, personalAccessTokens } from './tokens';
import { workspaces } from './workspaces';

/** Everything that the admin service answers. */
export const admin = {
  accounts,
  bots,
  botAllowlist,
  botApiKeys,
  botVersions,
  deadLetters: deadLetterOperations('admin'),
  identity,
  personalAccessTokens,
  workspaces,
};
