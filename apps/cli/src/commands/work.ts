import { Argument, type Command, Option } from 'commander';
import { admin } from '@parley/contracts/admin/admin';
import { chat } from '@parley/contracts/chat/chat';
import { files } from '@parley/contracts/files';
import { hub } from '@parley/contracts/hub/hub';
import { models } from '@parley/contracts/models/models';
import { runtime } from '@parley/contracts/runtime/runtime';
import { tables } from '@parley/contracts/tables/tables';
import { type WorkState, workStates } from '@parley/contracts/work';
import { Operator } from '../operator';
import { CommandFailed, type Output, printResult } from '../output';

const operationsOf = {
  admin: admin.work,
  chat: chat.work,
  files: files.work,
  hub: hub.work,
  models: models.work,
  runtime: runtime.work,
  tables: tables.work,
};
type Service = keyof typeof operationsOf;

const maxListed = 100;

interface ListOptions {
  state?: WorkState;
}

interface RetryOptions {
  allFailed?: boolean;
}

export function addWorkCommands(program: Command, output: Output): void {
  const work = program.command('work').description('background work in the queues of a service');
  const service = () => new Argument('<service>', 'service that owns the queue').choices(Object.keys(operationsOf));

  work
    .command('list')
    .description(`lists the oldest ${maxListed} pieces of background work, with the error of the last attempt`)
    .addArgument(service())
    .argument('[queue]', 'name of one queue, such as files.cleanup')
    .addOption(new Option('--state <state>', 'only work in this state').choices(workStates))
    .action(async (name: Service, queue: string | undefined, { state }: ListOptions) => {
      const input = { queue, state, limit: maxListed + 1 };
      const { work: found } = await Operator.find().call(operationsOf[name].list, input);
      if (found.length > maxListed) output.err(`Only the oldest ${maxListed} are shown.\n`);
      printResult(output, found.slice(0, maxListed));
    });
  work
    .command('show')
    .description('shows one piece of work with its payload')
    .addArgument(service())
    .argument('<queue>')
    .argument('<key>')
    .action(async (name: Service, queue: string, key: string) => {
      const { work: found } = await Operator.find().call(operationsOf[name].list, { queue, key });
      if (!found[0]) throw notFound(queue, key);
      printResult(output, { ...found[0], payload: JSON.parse(found[0].payload ?? 'null') as unknown });
    });
  work
    .command('retry')
    .description('starts one piece of work again that failed or waits, or all failed work of a queue')
    .addArgument(service())
    .argument('<queue>')
    .argument('[key]')
    .option('--all-failed', 'all failed work of the queue')
    .action(async (name: Service, queue: string, key: string | undefined, options: RetryOptions, command: Command) => {
      if ((key === undefined) === (options.allFailed === undefined))
        command.error('error: give a key, or --all-failed');
      const done = await Operator.find().call(operationsOf[name].retry, { queue, key });
      if (key !== undefined && done.retried === 0) throw notFound(queue, key);
      printResult(output, done);
    });
  work
    .command('discard')
    .description('deletes one piece of work that is not running: its effect never happens')
    .addArgument(service())
    .argument('<queue>')
    .argument('<key>')
    .option('--yes', 'confirms the deletion')
    .action(async (name: Service, queue: string, key: string, { yes }: { yes?: boolean }) => {
      if (!yes) throw new CommandFailed('Discarded work is lost. Add --yes to discard it.');
      const done = await Operator.find().call(operationsOf[name].discard, { queue, key });
      if (done.discarded === 0) throw notFound(queue, key);
      printResult(output, done);
    });
}

function notFound(queue: string, key: string): CommandFailed {
  return new CommandFailed(`Work "${key}" not found in the queue ${queue}. It may have finished.`);
}
