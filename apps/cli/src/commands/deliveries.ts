import { type Command, Option } from 'commander';
import { chat } from '@parley/contracts/chat/chat';
import { maxReplayedEvents } from '@parley/contracts/chat/deliveries';
import { type DeliveryStatus, deliveryStatuses } from '@parley/contracts/runtime/deliveries';
import { runtime } from '@parley/contracts/runtime/runtime';
import { possibleBot } from '../bot-id';
import { Operator } from '../operator';
import { CommandFailed, type Output, printResult } from '../output';

const maxListed = 100;

interface ListOptions {
  status?: DeliveryStatus;
}

interface ReplayOptions {
  allFailed?: boolean;
  allIgnored?: boolean;
}

export function addDeliveryCommands(program: Command, output: Output): void {
  const deliveries = program.command('deliveries').description('deliveries of events to bots, with each attempt');

  deliveries
    .command('list')
    .description(`lists the newest ${maxListed} deliveries to a bot, with the reason of a failure or a wait`)
    .argument('<bot id>')
    .addOption(new Option('--status <status>', 'only deliveries in this status').choices(deliveryStatuses))
    .action(async (bot: string, { status }: ListOptions) => {
      const input = { botId: possibleBot(bot), status, limit: maxListed };
      const { deliveries: found, meta } = await Operator.find().call(runtime.deliveries.list, input);
      if (meta.nextToken !== undefined) output.err(`Only the newest ${maxListed} deliveries are shown.\n`);
      printResult(
        output,
        found.map(({ attempts, ...delivery }) => ({ ...delivery, attempts: attempts.length })),
      );
    });
  deliveries
    .command('show')
    .description('shows one delivery with its latest attempts: time, duration, HTTP status and error')
    .argument('<bot id>')
    .argument('<event id>')
    .action(async (bot: string, eventId: string) => {
      const input = { botId: possibleBot(bot), eventId };
      const { deliveries: found } = await Operator.find().call(runtime.deliveries.list, input);
      if (!found[0])
        throw new CommandFailed(
          `Delivery of the event "${eventId}" not found. Deliveries are deleted after DELIVERY_RETENTION_DAYS.`,
        );
      printResult(output, found[0]);
    });
  deliveries
    .command('replay')
    .description('delivers one event to the bot again, or all events that failed or were ignored')
    .argument('<bot id>')
    .argument('[event id]')
    .addOption(new Option('--all-failed', 'all failed events of the bot').conflicts('allIgnored'))
    .option('--all-ignored', 'all ignored events of the bot')
    .action(async (bot: string, eventId: string | undefined, options: ReplayOptions, command: Command) => {
      const status = statusOf(options);
      if ((eventId === undefined) === (status === undefined))
        command.error('error: give an event id, or --all-failed, or --all-ignored');
      const done = await Operator.find().call(chat.deliveries.replay, { botId: possibleBot(bot), eventId, status });
      if (done.replayed === maxReplayedEvents)
        output.err(`At most ${maxReplayedEvents} events are replayed at once. Run the command again for the rest.\n`);
      printResult(output, done);
    });
}

function statusOf({ allFailed, allIgnored }: ReplayOptions): 'failed' | 'ignored' | undefined {
  if (allFailed) return 'failed';
  return allIgnored ? 'ignored' : undefined;
}
