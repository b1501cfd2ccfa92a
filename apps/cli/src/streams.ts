import 'reflect-metadata';
import { ConfigError, readConfig } from '@parley/config/config';
import { allConsumers } from '@parley/contracts/apps/apps';
import { NatsConfig } from '@parley/service/config';
import { asOperator } from './bus-operator';

/** Creates or updates the streams and all consumers. Idempotent, and safe to run concurrently. */
async function bringUpToDate(): Promise<void> {
  const config = readConfig(NatsConfig);
  await asOperator(config, async (upkeep) => {
    for await (const line of upkeep.bringUpToDate(allConsumers, config.natsReplicas)) process.stdout.write(`${line}\n`);
  });
}

bringUpToDate().catch((error: unknown) => {
  process.stderr.write(`${error instanceof ConfigError ? error.message : ((error as Error).stack ?? String(error))}\n`);
  process.exitCode = 1;
});
