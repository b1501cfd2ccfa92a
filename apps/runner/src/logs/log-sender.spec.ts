import { Logger } from '@nestjs/common';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { WriteLogs } from '@parley/contracts/runtime/logs';
import type { Platform } from '@parley/service/platform';
import { waitFor } from '@parley/testing/wait-for';
import type { ParleyClient } from '@parley/transport/parley-client';
import { LogSenderService } from './log-sender.service';

// Warnings about dropped lines are expected here.
beforeAll(() => Logger.overrideLogger(false));

const senders: LogSenderService[] = [];

afterEach(() => Promise.all(senders.splice(0).map((sender) => sender.beforeApplicationShutdown())));

/** Sender, and a runtime that answers with these errors first. */
function setUp(...errors: Error[]) {
  const sent: string[][] = [];
  let dropped = 0;
  const away = { isAway: false };
  const call = (_operation: unknown, _caller: unknown, { lines }: WriteLogs) => {
    const error = away.isAway ? unavailable('away') : errors.shift();
    if (error) return Promise.reject(error);
    sent.push(lines.map(({ message }) => message));
    return Promise.resolve({});
  };
  const metrics = {
    counter:
      () =>
      (by = 1) =>
        (dropped += by),
  };
  const sender = new LogSenderService({ call } as unknown as ParleyClient, { metrics } as unknown as Platform);
  sender.onApplicationBootstrap();
  senders.push(sender);
  const output = sender.outputOf({ owner: 'bot', ownerId: 'bot-1' });
  const print = (text: string) => output.take({ stream: 'stdout', text });
  return { sender, print, sent, away, dropped: () => dropped };
}

it('sends lines together, at most 500 and 400,000 characters', async () => {
  const { print, sent } = setUp();

  print('one\n'.repeat(600));
  print(`${'x'.repeat(15_000)}\n`.repeat(40));

  await waitFor(() => sent.flat().length === 640);
  expect(sent[0]).toHaveLength(500);
  for (const lines of sent) expect(lines.join('').length).toBeLessThan(415_000);
});

it('sends lines again while the runtime is away', async () => {
  const { print, sent, dropped } = setUp(unavailable('away'), new ApiError('OperationTimeout', 'slow'));

  print('one\n');

  await waitFor(() => sent.length > 0);
  expect(sent).toEqual([['one']]);
  expect(dropped()).toBe(0);
});

it('drops and counts lines that the runtime refuses, and sends the next ones', async () => {
  const { print, sent, dropped } = setUp(new ApiError('PayloadTooLarge', 'no'));

  print('one\ntwo\n');
  await waitFor(() => dropped() === 2);
  print('three\n');

  await waitFor(() => sent.length > 0);
  expect(sent).toEqual([['three']]);
});

it('sends what waits before it stops, and drops it when the runtime is away', async () => {
  const [here, away] = [setUp(), setUp(unavailable('away'), unavailable('away'), unavailable('away'))];
  here.print('one\n');
  away.print('one\n');

  await Promise.all([here.sender.beforeApplicationShutdown(), away.sender.beforeApplicationShutdown()]);

  expect(here.sent).toEqual([['one']]);
  expect([away.sent, away.dropped()]).toEqual([[], 1]);
});

it('keeps 8 MB of lines while the runtime is away, and drops and counts the others', async () => {
  const { sender, sent, dropped, away } = setUp();
  away.isAway = true;
  // With its overhead, a line takes 10,000 characters.
  const line = `${'x'.repeat(9_800)}\n`;

  for (let process = 0; process < 10; process += 1)
    sender.outputOf({ owner: 'bot', ownerId: `bot-${process}` }).take({ stream: 'stdout', text: line.repeat(100) });
  await waitFor(() => dropped() === 199);
  away.isAway = false;
  await sender.beforeApplicationShutdown();

  expect(sent.flat()).toHaveLength(801);
});
