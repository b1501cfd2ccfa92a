import { EventEmitter } from 'node:events';
import { unavailable } from '@parley/contracts/errors';
import { webhooks } from '@parley/contracts/runtime/webhooks';
import { Metrics } from '@parley/service/metrics';
import { GatewayConfig } from '../config';
import { WebhooksController } from './webhooks.controller';

const raw = () => Object.assign(new EventEmitter(), { destroyed: false, complete: true });

/** Requests to webhooks. `isAway` says whether the runtime, which knows webhooks, is away. */
function open(isAway: boolean) {
  const state = { isAway };
  const read = jest.fn((_request: unknown, _sender: { isAuthenticated: boolean }) => Promise.resolve({}));
  const client = {
    call: async ({ subject }: { subject: string }) => {
      if (state.isAway) throw unavailable('The runtime is away.');
      return subject === webhooks.receive.subject ? { status: 200, headers: {}, body: '' } : {};
    },
  };
  const none = {} as never;
  const controller = new WebhooksController(
    none,
    client as never,
    { read } as never,
    { countWebhook: () => Promise.resolve() } as never,
    { run: (_request: unknown, work: () => unknown) => work() } as never,
    none,
    new GatewayConfig(),
    { metrics: new Metrics() } as never,
  );
  const send = async () => {
    const reply = { raw: raw(), code: () => reply, headers: () => reply };
    const request = { id: 'req', ip: '127.0.0.1', method: 'POST', raw: raw() };
    const outcome = await controller['receive'](request as never, reply as never, '/hook', false).then(
      () => 'answered',
      ({ code }: { code: number }) => code,
    );
    return { outcome, isAuthenticated: read.mock.lastCall![1].isAuthenticated };
  };
  return { state, send };
}

it('counts bodies for webhooks that exist, and in the share of unknown senders while the runtime cannot say which do', async () => {
  const { state, send } = open(true);
  expect(await send()).toEqual({ outcome: 503, isAuthenticated: false });

  state.isAway = false;
  expect(await send()).toEqual({ outcome: 'answered', isAuthenticated: true });
  state.isAway = true;

  expect(await send()).toEqual({ outcome: 503, isAuthenticated: true });
});
