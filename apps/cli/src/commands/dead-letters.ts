import { Argument, type Command } from 'commander';
import { admin } from '@parley/contracts/admin/admin';
import { chat } from '@parley/contracts/chat/chat';
import { files } from '@parley/contracts/files';
import { hub } from '@parley/contracts/hub/hub';
import { models } from '@parley/contracts/models/models';
import { runtime } from '@parley/contracts/runtime/runtime';
import { tables } from '@parley/contracts/tables/tables';
import { Operator } from '../operator';
import { type Output, printResult } from '../output';

const operationsOf = {
  admin: admin.deadLetters,
  chat: chat.deadLetters,
  files: files.deadLetters,
  hub: hub.deadLetters,
  models: models.deadLetters,
  runtime: runtime.deadLetters,
  tables: tables.deadLetters,
};
type Service = keyof typeof operationsOf;

const maxListed = 100;

export function addDeadLetterCommands(program: Command, output: Output): void {
  const letters = program
    .command('dead-letters')
    .description('events that a consumer gave up on after its last attempt');
  const service = () => new Argument('<service>', 'service whose consumer failed').choices(Object.keys(operationsOf));

  letters
    .command('list')
    .description(`lists the newest ${maxListed} dead letters of a service`)
    .addArgument(service())
    .action(async (name: Service) => {
      const { deadLetters } = await Operator.find().call(operationsOf[name].list, { limit: maxListed + 1 });
      if (deadLetters.length > maxListed) output.err(`Only the newest ${maxListed} dead letters are shown.\n`);
      printResult(output, deadLetters.slice(0, maxListed));
    });
  letters
    .command('replay')
    .description('delivers one dead letter, or all of a service, to their consumers again')
    .addArgument(service())
    .argument('[id]', 'id of one dead letter')
    .action(async (name: Service, id?: string) => {
      printResult(output, await Operator.find().call(operationsOf[name].replay, { id }));
    });
}
