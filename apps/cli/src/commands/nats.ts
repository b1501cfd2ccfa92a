import type { Command } from 'commander';
import { newKeys } from '@parley/transport/nats-keys';
import { ConfigError, readConfig } from '@parley/config/config';
import { NatsConfig } from '@parley/service/config';
import { asOperator } from '../bus-operator';
import { CommandFailed } from '../command-failed';
import { type Output, printResult } from '../output';

export function addNatsCommands(program: Command, output: Output): void {
  program
    .command('nats')
    .description('access to the NATS server')
    .command('keys')
    .description('creates an NKey for each user of the NATS server and prints where each belongs')
    .action(() => printResult(output, newKeys()));
  program
    .command('streams')
    .description('lists the JetStream streams and the lag of each consumer (`npm run streams` creates them)')
    .action(async () => printResult(output, await asOperator(natsConfig(), (upkeep) => upkeep.list())));
}

function natsConfig(): NatsConfig {
  try {
    return readConfig(NatsConfig);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailed(error.message);
    throw error;
  }
}
