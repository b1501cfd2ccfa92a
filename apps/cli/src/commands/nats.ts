import type { Command } from 'commander';
import { newKeys, newServiceKey } from '@parley/transport/nats-keys';
import { ConfigError, readConfig } from '@parley/config/config';
import { NatsConfig } from '@parley/service/config';
import { asOperator } from '../bus-operator';
import { CommandFailed, type Output, printResult } from '../output';

interface KeyOptions {
  service?: string;
  asks?: string[];
  consumes?: string[];
}

export function addNatsCommands(program: Command, output: Output): void {
  program
    .command('nats')
    .description('access to the NATS server')
    .command('keys')
    .description(
      'creates an NKey for each user of the NATS server and prints where each belongs; with --service, one for a service of your own',
    )
    .option('--service <name>', 'name of a service that is not part of Parley')
    .option('--asks <subjects...>', 'operations that the service calls, such as files.search')
    .option('--consumes <consumers...>', 'events that it consumes, as in index=files.uploaded')
    .action((options: KeyOptions, command: Command) => printResult(output, keys(options, command)));
  program
    .command('streams')
    .description('lists the JetStream streams and the lag of each consumer (`npm run streams` creates them)')
    .action(async () => printResult(output, await asOperator(natsConfig(), (upkeep) => upkeep.list())));
}

function keys({ service: name, asks = [], consumes = [] }: KeyOptions, command: Command): string {
  if (name === undefined) {
    if (asks.length + consumes.length > 0) command.error('error: --asks and --consumes need --service <name>');
    return newKeys();
  }
  try {
    return newServiceKey({ name, asks, consumes });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandFailed(error.message);
    throw error;
  }
}

function natsConfig(): NatsConfig {
  try {
    return readConfig(NatsConfig);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailed(error.message);
    throw error;
  }
}
