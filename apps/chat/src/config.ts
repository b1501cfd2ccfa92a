import { Env, text } from '@parley/config/config';
import {
  eventRetentionDaysVariable,
  formerSecretKeysVariable,
  recurringMinSecondsVariable,
  secretKeyVariable,
  ServiceConfig,
  sweepIntervalVariable,
} from '@parley/service/config';

export class ChatConfig extends ServiceConfig {
  @Env(secretKeyVariable) secretKey!: string;
  @Env(formerSecretKeysVariable) formerSecretKeys?: string[];

  @Env(sweepIntervalVariable) sweepIntervalMs = 5_000;

  @Env(recurringMinSecondsVariable) recurringMinSeconds = 60;

  @Env(eventRetentionDaysVariable) eventRetentionDays = 90;

  /** Timeout of a list whose filters no index serves. It ends with OperationTimeout. Tests choose another. */
  listTimeoutMs = 5_000;

  @Env({
    env: 'CHAT_ENCRYPTION_KEY',
    need: 'rarely',
    type: text(),
    about: 'Signs the keys of users of the chat endpoint (HS256) for bots that have no encryption key of their own.',
    optional: true,
    defaultText: 'derived from `PARLEY_SECRET_KEY`',
  })
  chatEncryptionKey?: string;
}
