import { busyLoop } from '@parley/testing/busy-loop';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayConfig } from '../config';
import { ChatUserLimiter } from './chat-user.limiter';

const atOnce = 16;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Requests that work until the test ends them all. */
function open(gatewayMaxInFlight = 2_000) {
  const limiter = new ChatUserLimiter(Object.assign(new GatewayConfig(), { gatewayMaxInFlight }));
  const begun: string[] = [];
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const send = (user: string) =>
    limiter.run(user, async () => {
      begun.push(user);
      await ended;
      return user;
    });
  return { limiter, begun, send, end };
}

it('works on sixteen requests of a user at once, on those of another user meanwhile, and then on the rest', async () => {
  const { begun, send, end } = open();

  const answers = [...Array.from({ length: atOnce + 4 }, () => 'one'), 'other'].map(send);
  await turn();

  expect(begun).toEqual([...Array.from({ length: atOnce }, () => 'one'), 'other']);
  end();
  await expect(Promise.all(answers)).resolves.toHaveLength(atOnce + 5);
});

it('refuses with 503 the requests of a user of whom a quarter of all requests wait', async () => {
  const { send, end } = open(8);
  const answers = Array.from({ length: atOnce + 2 }, () => send('one'));

  await expect(send('one')).rejects.toMatchObject({ code: 503, retryAfterSeconds: 1 });

  answers.push(send('other'));
  end();
  await expect(Promise.all(answers)).resolves.toHaveLength(atOnce + 3);
});

it('rethrows what requests of a user throw, and frees their turns', async () => {
  const { limiter } = open();
  const fail = () => limiter.run('one', () => Promise.reject(new Error('Refused')));

  const failures = await Promise.allSettled(Array.from({ length: atOnce + 4 }, fail));

  expect(failures).toEqual(failures.map(() => ({ status: 'rejected', reason: new Error('Refused') })));
  await expect(limiter.run('one', () => Promise.resolve('answer'))).resolves.toBe('answer');
});

it('takes three tenths of a busy event loop: a turn of 48 ms stays taken for 2,512 ms more', async () => {
  const { pass, looked } = busyLoop();
  const { limiter, begun, send, end } = open();
  const first = limiter.run('one', () => {
    pass(48);
    return Promise.resolve();
  });
  const answers = Array.from({ length: atOnce }, () => send('one'));
  await first;

  await looked();
  pass(2_511);
  await looked();
  expect(begun).toHaveLength(atOnce - 1);
  pass(1);

  await waitFor(() => begun.length === atOnce);
  jest.restoreAllMocks();
  end();
  await Promise.all(answers);
});
