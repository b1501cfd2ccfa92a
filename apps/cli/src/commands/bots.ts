import type { Command } from 'commander';
import { admin } from '@parley/contracts/admin/admin';
import { chat } from '@parley/contracts/chat/chat';
import { files } from '@parley/contracts/files';
import { models } from '@parley/contracts/models/models';
import { runtime } from '@parley/contracts/runtime/runtime';
import { tables } from '@parley/contracts/tables/tables';
import { Operator } from '../operator';
import { CommandFailed, type Output, printResult } from '../output';

export function addBotCommands(program: Command, output: Output): void {
  const bot = program.command('bot').description('calls and data of bots');
  bot
    .command('leftovers')
    .description('counts the data that is left of a bot: all zero once a deleted bot is erased')
    .argument('<bot id>')
    .action(async (botId: string) => {
      const operator = Operator.find();
      printResult(output, {
        ...(await operator.call(files.countLeftovers, { botId })),
        ...(await operator.call(tables.countLeftovers, { botId })),
        ...(await operator.call(chat.countLeftovers, { botId })),
        ...(await operator.call(runtime.countLeftovers, { botId })),
        ...(await operator.call(models.countLeftovers, { botId })),
      });
    });
  bot
    .command('register')
    .description('registers an installed integration of the bot again, and shows its status')
    .argument('<bot id>')
    .argument('<alias>', 'alias of the integration in the bot')
    .action(async (botId: string, alias: string) => {
      const registration = await Operator.find().call(admin.registrations.registerAgain, { botId, alias });
      printResult(output, registration);
      if (registration.status.endsWith('_failed'))
        throw new CommandFailed(`The integration is not registered: ${registration.statusReason}`);
    });
  bot
    .command('link')
    .description('shows the link that connects an installed integration with the other service')
    .argument('<bot id>')
    .argument('<alias>', 'alias of the integration in the bot')
    .action(async (botId: string, alias: string) =>
      printResult(output, await Operator.find().call(admin.installationLinks.getOfAnyBot, { botId, alias })),
    );
  bot
    .command('ping')
    .description('calls the bot without an event, and shows its HTTP status or the reason of the failure')
    .argument('<bot id>')
    .action(async (botId: string) => {
      const ping = await Operator.find().call(runtime.pingBot, { botId });
      printResult(output, ping);
      if (ping.error !== null) throw new CommandFailed(`The bot did not answer with success: ${ping.error}`);
    });
}
