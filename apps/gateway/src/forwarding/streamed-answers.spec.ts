import { cognitive } from '@parley/contracts/models/cognitive';
import { unavailable } from '@parley/contracts/errors';
import type { Driver } from '@parley/transport/driver';
import type { Message } from '@parley/transport/message';
import { ParleyClient } from '@parley/transport/parley-client';
import { EventEmitter } from 'node:events';
import type { ValidExchange } from './contract.pipe';
import { ForwardingService } from './forwarding.service';

const streamed: Message = { head: 'ok', body: '{"streams":"application/x-ndjson"}' };

/** Asks for a streamed answer on a bus, of which the subscription is live as given. */
function ask(live: (requested: Promise<void>) => Promise<void>) {
  let sent: () => void;
  const requested = new Promise<void>((resolve) => (sent = resolve));
  const stops: string[] = [];
  const driver = {
    listen: () => ({ live: live(requested), stop: () => undefined }),
    request: (subject: string, { body }: Message) => {
      if (subject === cognitive.generateTextStream.subject) sent();
      else stops.push(body);
      return Promise.resolve(streamed);
    },
  } as unknown as Driver;
  const none = undefined as never;
  const service = new ForwardingService(new ParleyClient(driver), none, none, none, none, none);
  const raw = new EventEmitter();
  const reply = { raw, type: () => reply };
  const request = { caller: { requestId: 'r' } };
  const exchange = { operation: cognitive.generateTextStream, request, reply, input: {} } as unknown as ValidExchange;
  return { answer: service.forward(exchange), stops };
}

it('sends the request without waiting for the confirmation of its subscription', async () => {
  const answer = await ask((requested) => requested).answer;

  expect(answer).toHaveProperty('readable', true);
  (answer as NodeJS.ReadableStream & { destroy(): void }).destroy();
});

it('answers an error, and stops the sender, when the subscription fails', async () => {
  const { answer, stops } = ask(() => Promise.reject(unavailable('The bus is not connected.')));

  await expect(answer).rejects.toMatchObject({ code: 503 });
  expect(stops.map((body) => JSON.parse(body) as object)).toEqual([{ received: 0, stop: true }]);
});
