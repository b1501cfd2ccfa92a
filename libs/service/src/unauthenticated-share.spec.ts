import type { Socket } from 'node:net';
import { busyLoop } from '@parley/testing/busy-loop';
import { metricValue } from '@parley/testing/metric-value';
import { waitFor } from '@parley/testing/wait-for';
import { Metrics } from './metrics';
import { UnauthenticatedShare } from './unauthenticated-share';

/** Requests of networks, each named after its network and a number. Each works until the test ends it. */
function open(max = 100) {
  const metrics = new Metrics();
  const share = new UnauthenticatedShare({ max, maxLoopDelayMs: 60_000, metrics });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const send = (name: string, socket = { destroyed: false }) =>
    share.run({ ip: name.split('/')[0]!, raw: { socket: socket as Socket } }, () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    });
  const end = (name: string) => ends.get(name)!();
  const endAll = async (answers: Promise<string>[]) => {
    let isOver = false;
    const all = Promise.allSettled(answers).then(() => (isOver = true));
    await waitFor(() => {
      ends.forEach((finish) => finish());
      return isOver;
    });
    await all;
  };
  return { metrics, begun, send, end, endAll };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('works on two requests of a network at once, and on four of all', async () => {
  const { begun, send, endAll } = open();

  const answers = ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'd/1'].map((name) => send(name));
  await turn();

  expect(begun).toEqual(['a/1', 'a/2', 'b/1', 'c/1']);
  await endAll(answers);
});

it('begins with the next request when one has ended, and answers all', async () => {
  const { begun, send, end, endAll } = open();
  const answers = ['a/1', 'a/2', 'a/3', 'a/4'].map((name) => send(name));
  await turn();

  end('a/2');
  await waitFor(() => begun.length > 2);

  expect(begun).toEqual(['a/1', 'a/2', 'a/3']);
  await endAll(answers);
  await expect(Promise.all(answers)).resolves.toEqual(['a/1', 'a/2', 'a/3', 'a/4']);
});

it('rejects with 503 a network that has as many requests as are free, and no other', async () => {
  const { begun, metrics, send, end, endAll } = open(8);
  const answers = ['a/1', 'a/2', 'a/3', 'a/4'].map((name) => send(name));

  await expect(send('a/5')).rejects.toMatchObject({ code: 503, retryAfterSeconds: 1 });

  answers.push(send('b/1'));
  await turn();
  expect(begun).toEqual(['a/1', 'a/2', 'b/1']);
  expect(metricValue(await metrics.registry.metrics(), 'parley_under_way{place="unauthenticated"}')).toBe(5);
  end('b/1');
  await endAll(answers);
});

it('passes over the requests of clients that have gone', async () => {
  const { begun, send, end, endAll } = open();
  const socket = { destroyed: false };
  const answers = ['a/1', 'a/2'].map((name) => send(name));
  const gone = ['a/3', 'a/4', 'a/5'].map((name) => send(name, socket));
  answers.push(send('a/6'));
  await turn();

  socket.destroyed = true;
  end('a/1');

  for (const answer of gone) await expect(answer).rejects.toMatchObject({ code: 503 });
  await waitFor(() => begun.length > 2);
  expect(begun).toEqual(['a/1', 'a/2', 'a/6']);
  await endAll(answers);
});

it('frees the turn of work that fails', async () => {
  const { begun, send, endAll } = open();
  const { metrics } = open();
  const failing = new UnauthenticatedShare({ max: 100, maxLoopDelayMs: 60_000, metrics });
  const sender = { ip: 'a', raw: { socket: { destroyed: false } as Socket } };

  for (let n = 0; n < 3; n += 1)
    await expect(failing.run(sender, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');

  const answers = [send('a/1'), send('a/2')];
  await waitFor(() => begun.length === 2);
  await endAll(answers);
});

it('takes a fifth of a busy event loop: a turn of 50 ms stays taken for 950 ms more', async () => {
  const { pass, looked } = busyLoop();
  const { begun, send, end, endAll } = open();
  const answers = ['x/1', 'x/2', 'x/3'].map((name) => send(name));
  await turn();

  pass(50);
  end('x/1');
  await looked();
  pass(949);
  await looked();
  expect(begun).toEqual(['x/1', 'x/2']);
  pass(1);

  await waitFor(() => begun.length > 2);
  jest.restoreAllMocks();
  await endAll(answers);
});
