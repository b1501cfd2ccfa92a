import tab from '@bomb.sh/tab/commander';
import { Command, CommanderError } from 'commander';
import { CannotOpenData } from '@parley/local-postgres/cannot-open-data';
import { CommandFailed } from './output';
import { addAccountCommands } from './commands/accounts';
import { addBackupCommands } from './commands/backup';
import { addBotCommands } from './commands/bots';
import { addDeadLetterCommands } from './commands/dead-letters';
import { addDeliveryCommands } from './commands/deliveries';
import { addEvaluateCommand } from './commands/evaluate';
import { addFileCommands } from './commands/files';
import { addLogCommand } from './commands/logs';
import { addNatsCommands } from './commands/nats';
import { addReindexCommand } from './commands/reindex';
import { addSecretCommands } from './commands/secrets';
import { addWebhookCommands } from './commands/webhooks';
import { addWorkCommands } from './commands/work';
import type { Output } from './output';

const about = [
  'Commands for the operator of a Parley platform: `npm run parley -- <command>`.',
  'They call the platform at PARLEY_URL with its PARLEY_SECRET_KEY, or the embedded one whose data folder is PARLEY_DATA_DIR.',
].join('\n');

export function createProgram(output: Output): Command {
  const program = new Command('parley')
    .description(about)
    .exitOverride()
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .showHelpAfterError('Add --help for the arguments and options, as in: npm run parley -- files retry --help');
  addAccountCommands(program, output);
  addWebhookCommands(program, output);
  addWorkCommands(program, output);
  addDeadLetterCommands(program, output);
  addFileCommands(program, output);
  addBotCommands(program, output);
  addDeliveryCommands(program, output);
  addLogCommand(program, output);
  addReindexCommand(program, output);
  addEvaluateCommand(program, output);
  addBackupCommands(program, output);
  addSecretCommands(program, output);
  addNatsCommands(program, output);
  tab(program);
  return program;
}

/** Runs one command line and returns its exit code: 0 succeeded, 1 failed, 2 wrong arguments. */
export async function runCommand(
  words: string[],
  out: (text: string) => void,
  err: (text: string) => void = out,
): Promise<number> {
  try {
    const program = createProgram({ out, err });
    if (words.length === 0) program.help({ error: true });
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed its own errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CommandFailed || error instanceof CannotOpenData)) throw error;
    err(`${error.message}\n`);
    return 1;
  }
}
