import { Env, integer } from '@parley/config/config';
import { egressAllowPrivateVariable } from '@parley/egress/config';
import { formerSecretKeysVariable, secretKeyVariable, ServiceConfig, tunnelUrlVariable } from '@parley/service/config';

export class RuntimeConfig extends ServiceConfig {
  @Env(secretKeyVariable) secretKey!: string;
  @Env(formerSecretKeysVariable) formerSecretKeys?: string[];

  @Env({
    env: 'DELIVERIES_CONCURRENCY',
    type: integer(1, 10_000),
    about:
      'Events that a runtime process delivers to bots at once. One workspace may have as many of these places as are free, so half of them alone.',
  })
  deliveriesConcurrency = 400;

  @Env({
    env: 'DELIVERIES_PER_BOT',
    type: integer(1, 1_000),
    about:
      'Events that a runtime process delivers to one bot at once. Events of one conversation are never delivered at once.',
  })
  deliveriesPerBot = 10;

  @Env({
    env: 'DELIVERIES_PER_BOT_PER_SECOND',
    need: 'rarely',
    type: integer(1, 100_000),
    about:
      'Events that a runtime process delivers to one bot per second. The rest is delayed: a bot that answers itself would go on for ever.',
  })
  deliveriesPerBotPerSecond = 100;

  /** Events that wait for a bot that cannot be called. Beyond it, the oldest are ignored. Tests choose another number. */
  deliveriesWaitingPerBot = 10_000;

  /** Actions of one bot that a process calls at once: one that calls itself would go on for ever. Tests choose another number. */
  actionsPerBot = 50;

  /** Requests to the webhook of one installation that a process hands on at once. Tests choose another number. */
  webhooksPerInstallation = 50;

  @Env({
    env: 'DELIVERY_RETENTION_DAYS',
    type: integer(1, 3_650),
    about: 'Days for which the attempts and outcomes of deliveries, and the runs of actions, are kept.',
  })
  deliveryRetentionDays = 7;

  @Env({
    env: 'LOG_RETENTION_DAYS',
    type: integer(1, 3_650),
    about: 'Days for which the output of the code of bots is kept.',
  })
  logRetentionDays = 7;

  @Env(egressAllowPrivateVariable) egressAllowPrivate?: 'true' | 'false';

  @Env(tunnelUrlVariable) tunnelUrl?: string;
}
