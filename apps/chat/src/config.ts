import { Env, integer, text } from '@parley/config/config';
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

  @Env({
    env: 'CHAT_LIST_TIMEOUT_MS',
    type: integer(100, 9_000),
    about: 'Timeout in milliseconds of a list whose filters no index serves. It ends with OperationTimeout.',
  })
  listTimeoutMs = 5_000;

  @Env({
    env: 'CHAT_ENCRYPTION_KEY',
    type: text(),
    about: 'Signs the keys of users of the chat endpoint (HS256) for bots that have no encryption key of their own.',
    optional: true,
    defaultText: 'derived from `PARLEY_SECRET_KEY`',
  })
  chatEncryptionKey?: string;
}
