import type { Command } from 'commander';
import { runtime } from '@parley/contracts/runtime/runtime';
import { possibleBot } from '../bot-id';
import { Operator } from '../operator';
import { CommandFailed, type Output, printResult } from '../output';

const operations = runtime.webhookRecordings;

export function addWebhookCommands(program: Command, output: Output): void {
  const webhooks = program.command('webhooks').description('recorded requests to the webhooks of integrations');
  const command = (name: string, description: string) =>
    webhooks
      .command(name)
      .description(description)
      .argument('<bot id>')
      .argument('<alias>', 'alias of the integration in the bot');

  command('record', 'starts to record the latest 20 requests, for 7 days').action(async (bot: string, alias: string) =>
    printResult(output, await set(bot, alias, true)),
  );
  command('stop', 'ends the recording, and erases the recorded requests').action(async (bot: string, alias: string) =>
    printResult(output, await set(bot, alias, false)),
  );
  command('list', 'lists the recorded requests, newest first').action(async (bot: string, alias: string) => {
    const input = { botId: possibleBot(bot), alias };
    const { enabled, requests } = await Operator.find().call(operations.listOfAnyBot, input);
    if (!enabled) output.err('Requests to this webhook are not recorded: webhooks record starts it.\n');
    printResult(output, requests);
  });
  command('show', 'shows a recorded request with its headers and its body')
    .argument('<request id>')
    .action(async (bot: string, alias: string, requestId: string) => {
      const input = { botId: possibleBot(bot), alias, requestId };
      printResult(output, (await Operator.find().call(operations.getOfAnyBot, input)).request);
    });
  command('replay', 'hands a recorded request to the integration once more, and shows its answer')
    .argument('<request id>')
    .option(
      '--header <name: value...>',
      'sent in addition, such as in place of a masked one',
      (line: string, lines: string[]) => [...lines, line],
      [],
    )
    .action(async (bot: string, alias: string, requestId: string, options: { header: string[] }, self: Command) => {
      const headers = Object.fromEntries(
        options.header.map((line) => {
          const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? self.error(`error: not a header: ${line}`);
          return [name!, value!];
        }),
      );
      const input = { botId: possibleBot(bot), alias, requestId, headers };
      const answer = await Operator.find().call(operations.replayOfAnyBot, input);
      printResult(output, answer);
      if (answer.status >= 400) throw new CommandFailed(`The integration answered with the status ${answer.status}.`);
    });
}

function set(bot: string, alias: string, enabled: boolean) {
  return Operator.find().call(operations.setOfAnyBot, { botId: possibleBot(bot), alias, enabled });
}
