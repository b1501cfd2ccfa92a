import { Env, integer, Rejected, text, url, type VariableOptions } from '@parley/config/config';
import { tokenKind } from '@parley/secrets/token';
import {
  eventRetentionDaysVariable,
  formerSecretKeysVariable,
  operatorWorkspaceVariable,
  recurringMinSecondsVariable,
  secretKeyVariable,
  ServiceConfig,
  strictDeployVariable,
  webhookUrlVariable,
} from '@parley/service/config';

export class AdminConfig extends ServiceConfig {
  @Env(secretKeyVariable) secretKey!: string;
  @Env(formerSecretKeysVariable) formerSecretKeys?: string[];
  @Env(operatorWorkspaceVariable) operatorWorkspaceId?: string;
  @Env(strictDeployVariable) strictDeploy: 'true' | 'false' = 'false';

  @Env({
    env: 'PARLEY_BOOTSTRAP_TOKEN',
    need: 'always',
    type: {
      accepts: 'a token that `npm run parley -- token generate` prints',
      read: (value) => (tokenKind(value) === 'pat' ? value : new Rejected()),
    },
    about: 'The first personal access token, created at the very first start. The embedded mode generates one itself.',
  })
  bootstrapToken!: string;

  @Env({
    env: 'PARLEY_BOOTSTRAP_EMAIL',
    type: text('an email address', /^\S+@\S+$/),
    about: 'Email address of the account created at the very first start.',
  })
  bootstrapEmail = 'admin@parley.local';

  @Env({
    env: 'PUBLIC_URL',
    need: 'always',
    type: url('http', 'https'),
    about: 'URL at which clients reach the platform. Required in distributed mode.',
    defaultText: '`http://HOST:PORT`',
  })
  publicUrl!: string;

  @Env({
    env: 'CHAT_URL',
    type: url('http', 'https'),
    about: 'Base URL of the chat API; the webhook id of an installation is appended.',
    optional: true,
    defaultText: '`PUBLIC_URL/chat`',
  })
  chatUrl?: string;

  @Env(webhookUrlVariable) webhookUrl?: string;

  @Env(quota('INVOCATION_TIMEOUT', 'Milliseconds that one call of a bot may take. At most 120,000 are used.'))
  quotaInvocationTimeoutMs = 60_000;

  @Env(quota('INVOCATION_CALLS', 'Calls of bots that a workspace may have in a month (UTC).'))
  quotaInvocationCalls = 100_000_000;

  @Env(quota('STORAGE_COUNT', 'Bytes of files, and of the payloads of recurring events, that a workspace may have.'))
  quotaStorageBytes = 1_000_000_000_000;

  @Env(quota('BOT_COUNT', 'Bots that a workspace may have.')) quotaBotCount = 10_000;

  @Env(quota('KNOWLEDGEBASE_VECTOR_STORAGE', 'Bytes of indexed files that a workspace may have.'))
  quotaVectorStorageBytes = 100_000_000_000;

  @Env(quota('WORKSPACE_MEMBER_COUNT', 'Members that a workspace may have.')) quotaWorkspaceMemberCount = 1_000;

  @Env(recurringMinSecondsVariable) recurringMinSeconds = 60;

  @Env(eventRetentionDaysVariable) eventRetentionDays = 90;

  /** Enforced by the files service, which reads the same variable. */
  @Env({
    env: 'MAX_UPLOAD_BYTES',
    type: integer(1, Number.MAX_SAFE_INTEGER),
    about: 'Largest accepted file, in bytes.',
  })
  maxUploadBytes = 5_000_000_000;
}

function quota(name: string, about: string): VariableOptions<number> {
  return { env: `QUOTA_${name}`, type: integer(0, Number.MAX_SAFE_INTEGER), about };
}
