import { headers, type Msg } from 'nats';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import type { NatsLink } from './nats-connection';
import { defaultPayloadTiming, NatsPayloads } from './nats-payloads';

type Piece = { data: Uint8Array };

const reference = 'bodies.probe.0b5e2c1e-8f53-4e36-9a8e-0d1f2a3b4c5d';
const missing: Piece = { data: Buffer.alloc(0) };

/** Message by reference, whose pieces are read from `request`. */
function read(request: (subject: string) => Piece, { pieces = 1, maxBodyBytes = 1_000 } = {}) {
  const link = { connection: { request: (subject: string) => Promise.resolve(request(subject)) } };
  const payloads = new NatsPayloads(link as unknown as NatsLink, maxBodyBytes, 1, defaultPayloadTiming);
  const own = headers();
  own.set('parley-payload', `${reference} ${pieces}`);
  const message = { subject: 'probe.ask', headers: own } as Msg;
  return payloads.answered(message, ({ head, body }) => Promise.resolve([head, body]));
}

afterEach(realClock);

it('reads no further piece of a body once it is larger than the platform allows', async () => {
  const request = jest.fn(() => ({ data: Buffer.alloc(10_000, 'x') }));

  await expect(read(request, { pieces: 9_999 })).rejects.toMatchObject({ type: 'PayloadTooLarge' });

  expect(request).toHaveBeenCalledTimes(2);
});

it.each([
  [2_000, ['head', 'body']],
  [2_001, { code: 503 }],
])('looks for a piece that another replica has, until %d ms have passed', async (waitedMs, outcome) => {
  fakeClock('Date');
  let asked = 0;
  const request = () => {
    asked += 1;
    if (asked === 1) jest.advanceTimersByTime(waitedMs);
    return asked === 1 ? missing : { data: Buffer.from('head\nbody') };
  };

  const answer = await read(request).catch((error: unknown) => error);

  expect(answer).toMatchObject(outcome);
});
