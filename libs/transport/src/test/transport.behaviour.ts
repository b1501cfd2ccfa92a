import {
  type ArgumentsHost,
  type CallHandler,
  Controller,
  type ExecutionContext,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { broadcast, channel, instanceOperation } from '@parley/contracts/operation';
import { markReplayed } from '@parley/contracts/replayed';
import { withWarning } from '@parley/contracts/warning';
import { waitFor } from '@parley/testing/wait-for';
import { map } from 'rxjs';
import { ParleyClient } from '../parley-client';
import type { Driver } from '../driver';
import { Handles } from '../handles';
import { anHour, Anything, answerWith, caller, outcomeOf, probe, startServer } from './probe';

export interface SharedBus {
  connect(maxBodyBytes?: number): Promise<Driver>;
  stop(): Promise<void>;
}

const changes = channel({ subject: 'probe.changes', data: Anything });

export function transportBehaviour(open: () => Promise<SharedBus>): void {
  let shared: SharedBus;
  let service: Driver;
  let bus: ParleyClient;

  beforeAll(async () => {
    shared = await open();
    service = await shared.connect();
    bus = new ParleyClient(await shared.connect());
  });

  afterAll(() => shared.stop());

  it('carries values as JSON in both directions', async () => {
    const echo = probe();
    const values = {
      date: new Date(0),
      nothing: undefined,
      none: null,
      falsy: [0, false, '', undefined, Number.NaN],
      nested: { deep: [{ deeper: { deepest: 1.5 } }] },
      unicode: 'Grüße \u0000 🦜 \ud83d "\\',
      map: new Map([['lost', 1]]),
    };
    let received: unknown;
    await answerWith(service, echo, (input) => {
      received = input;
      return values;
    });

    const answer = await bus.call(echo, caller, values);

    const json: unknown = JSON.parse(JSON.stringify(values));
    expect(received).toStrictEqual(json);
    expect(answer).toStrictEqual(json);
  });

  it('carries a key named __proto__ as an ordinary key', async () => {
    const echo = probe();
    await answerWith(service, echo, (input) => input);

    const answer = await bus.call(echo, caller, JSON.parse('{"__proto__":{"polluted":true}}') as Anything);

    expect(JSON.stringify(answer)).toBe('{"__proto__":{"polluted":true}}');
    expect(answer['polluted']).toBeUndefined();
  });

  it('shares no object between caller and handler', async () => {
    const change = probe();
    const kept = { list: [1] };
    await answerWith(service, change, (input) => {
      (input['list'] as number[]).push(2);
      return kept;
    });
    const input = { list: [1] };

    const answer = await bus.call(change, caller, input);
    (answer['list'] as number[]).push(3);

    expect(input).toEqual({ list: [1] });
    expect(kept).toEqual({ list: [1] });
  });

  it('marks an answer that is replayed', async () => {
    const repeat = probe();
    await answerWith(service, repeat, ({ isRepeat }) => (isRepeat ? markReplayed({ id: 1 }) : { id: 1 }));

    const answers = [await bus.request(repeat, caller, {}), await bus.request(repeat, caller, { isRepeat: true })];

    expect(answers).toEqual([
      { text: '{"id":1}', isReplayed: false },
      { text: '{"id":1}', isReplayed: true },
    ]);
  });

  it('carries a warning beside an answer, whatever characters it has', async () => {
    const warned = probe();
    const warning = 'Two\nlines, \u{1f600} and "quotes"';
    await answerWith(service, warned, () => withWarning({ id: 1 }, warning));

    expect(await bus.request(warned, caller, {})).toEqual({ text: '{"id":1}', isReplayed: false, warning });
    expect(await bus.call(warned, caller, {})).toEqual({ id: 1 });
  });

  it('answers an empty object when a handler returns nothing', async () => {
    const silence = probe();
    await answerWith(service, silence, () => undefined);

    await expect(bus.call(silence, caller, {})).resolves.toEqual({});
  });

  it('passes the caller to the handler', async () => {
    const whoami = probe();
    await answerWith(service, whoami, (_input, by) => by);
    const alice = { ...caller, account: { id: 'account-1', email: 'älice@example.com' }, traceparent: '00-1-2-01' };

    await expect(bus.call(whoami, alice, {})).resolves.toEqual(alice);
  });

  it('carries an error with its type, code, metadata and retry delay', async () => {
    const refuse = probe();
    const metadata = { field: 'key', allowed: ['a', 'b'] };
    await answerWith(service, refuse, () => {
      throw new ApiError('AlreadyExists', 'It is there.', { metadata, retryAfterSeconds: 7 });
    });

    const { error } = await outcomeOf(bus.call(refuse, caller, {}));

    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      type: 'AlreadyExists',
      code: 409,
      message: 'It is there.',
      metadata,
      retryAfterSeconds: 7,
    });
  });

  it.each([
    ['an error of JavaScript', new Error('password=hunter2')],
    ['a string', 'password=hunter2'],
    ['nothing', undefined],
  ])('hides the message of an internal error when a handler throws %s', async (_what, thrown: unknown) => {
    const fail = probe();
    await answerWith(service, fail, () => {
      throw thrown;
    });

    const { error } = await outcomeOf(bus.call(fail, caller, {}));

    expect(error).toMatchObject({ type: 'Internal', code: 500 });
    expect(JSON.stringify((error as ApiError).toWire())).not.toContain('hunter2');
  });

  it.each([
    ['a BigInt', () => ({ size: 1n })],
    ['a circle', () => circle()],
  ])('answers an error when the answer is %s', async (_what, answer) => {
    const strange = probe();
    await answerWith(service, strange, answer);

    await expect(bus.call(strange, caller, {})).rejects.toMatchObject({ type: 'Internal', code: 500 });
  });

  it('drops error metadata that is not JSON', async () => {
    const strange = probe();
    await answerWith(service, strange, () => {
      throw new ApiError('InvalidPayload', 'No.', { metadata: circle() });
    });

    await expect(bus.call(strange, caller, {})).rejects.toMatchObject({ type: 'InvalidPayload', message: 'No.' });
  });

  it('answers an error when a handler of the driver throws', async () => {
    service.serve('probe.raw', 'probe', () => Promise.reject(new Error('password=hunter2')));
    await service.ready();

    const { head, body } = await (await shared.connect()).request('probe.raw', { head: '', body: '{}' }, 5_000);

    expect(head).toBe('error');
    expect(JSON.parse(body)).toMatchObject({ type: 'Internal' });
    expect(body).not.toContain('hunter2');
  });

  it.each(['', 'not json', 'null', '7', '{"unclosed":', '\u0000\ufffd'])(
    'answers InvalidPayload to a message with the body %j and no caller',
    async (body) => {
      const echo = probe();
      await answerWith(service, echo, (input) => input);
      const rawClient = await shared.connect();

      const answer = await rawClient.request(echo.subject, { head: '', body }, 5_000);

      expect(JSON.parse(answer.body)).toMatchObject({ type: 'InvalidPayload', code: 400 });
      await expect(bus.call(echo, caller, { still: 'there' })).resolves.toEqual({ still: 'there' });
    },
  );

  it('fails at once when no instance serves the subject, with a retry delay', async () => {
    const { error } = await outcomeOf(bus.call(probe(anHour), caller, {}));

    expect(error).toMatchObject({ type: 'Internal', code: 503, retryAfterSeconds: 1 });
  });

  it('runs the guards, interceptors, pipes and filters of a handler in the order of Nest', async () => {
    const { asked, calls, refuse, fail } = await serveEnhanced(service);

    const answer = await bus.call(asked, caller, {});
    expect(answer).toEqual({ asked: 'request-1', wrapped: true });
    expect(calls.splice(0)).toEqual(['guard', 'interceptor before', 'pipe', 'handler', 'interceptor after']);

    const refused = await outcomeOf(bus.call(asked, caller, { refused: true }));
    expect(refused.error).toMatchObject({ type: 'Forbidden', message: 'Refused by the guard.' });
    expect(calls.splice(0)).toEqual(['guard', 'filter']);

    const replaced = await outcomeOf(bus.call(asked, caller, { replaced: true }));
    expect(replaced.error).toMatchObject({ type: 'RelationConflict', message: 'Replaced by the filter.' });
    expect(calls.splice(0)).toEqual(['guard', 'interceptor before', 'pipe', 'handler', 'filter']);

    expect((await outcomeOf(bus.call(refuse, caller, {}))).error).toMatchObject({ type: 'Forbidden', message: 'No.' });
    expect((await outcomeOf(bus.call(fail, caller, {}))).error).toMatchObject({
      type: 'Internal',
      message: 'Internal server error.',
    });
  });

  it('hides the reason when a guard returns false', async () => {
    const { shut } = await serveEnhanced(service);

    await expect(bus.call(shut, caller, {})).rejects.toMatchObject({ type: 'Internal', code: 500 });
  });

  it('sends an operation of a key to the one process that serves the key', async () => {
    const held = instanceOperation({ subject: 'probe.held', input: Anything, output: Anything });
    const [first, second] = [await shared.connect(), await shared.connect()];
    const servers = await Promise.all([first, second].map((driver) => startServer({ contract: {}, driver }, [])));
    const serve = (index: number, key: string) =>
      servers[index]!.server.serveInstance(held, key, async (by, input) => {
        if (input['refused']) throw new ApiError('Forbidden', 'No.');
        return { by: by.requestId, from: index, key };
      });
    const [one, two] = [serve(0, 'key-1'), serve(1, 'key-2')];
    await Promise.all([one.live, two.live]);

    const answers = await Promise.all(
      ['key-1', 'key-2', 'key-1', 'key-2'].map((key) => bus.callInstance(held, key, caller, {})),
    );
    expect(answers.map(({ from, key }) => [from, key])).toEqual([
      [0, 'key-1'],
      [1, 'key-2'],
      [0, 'key-1'],
      [1, 'key-2'],
    ]);
    await expect(bus.callInstance(held, 'key-1', caller, { refused: true })).rejects.toMatchObject({
      type: 'Forbidden',
    });

    one.stop();
    await first.ready();
    const stopped = await outcomeOf(bus.callInstance(held, 'key-1', caller, {}));
    expect(stopped.error).toMatchObject({ code: 503, retryAfterSeconds: 1 });
    await second.drain();
    await expect(bus.callInstance(held, 'key-2', caller, {})).rejects.toMatchObject({ code: 503 });
    expect(() => servers[0]!.server.serveInstance(held, '*', () => Promise.resolve({}))).toThrow(TypeError);
  });

  it('times out at the deadline of the operation when a handler never answers', async () => {
    const never = probe(100);
    await answerWith(service, never, () => new Promise(() => undefined));
    const connection = await shared.connect();

    const { error } = await outcomeOf(new ParleyClient(connection).call(never, caller, {}));

    expect(error).toMatchObject({ type: 'OperationTimeout', code: 504 });
  });

  it('gives each request to one replica, and shares them between replicas', async () => {
    const count = probe();
    const replicas = await Promise.all([1, 2, 3].map(() => shared.connect()));
    const served = [0, 0, 0];
    for (const [index, replica] of replicas.entries()) {
      await answerWith(replica, count, () => void (served[index]! += 1));
    }

    await Promise.all(Array.from({ length: 90 }, () => bus.call(count, caller, {})));

    expect(served.reduce((sum, each) => sum + each)).toBe(90);
    expect(Math.min(...served)).toBeGreaterThan(0);
  });

  it('delivers a broadcast to every listener, even if one throws', async () => {
    const news = broadcast({ subject: 'probe.news', data: Anything });
    const heard: string[] = [];
    for (const name of ['first', 'second', 'third']) {
      const driver = await shared.connect();
      new ParleyClient(driver).listen(news, ({ text }) => {
        if (name === 'second') throw new Error('This listener is broken.');
        heard.push(`${name}: ${String(text)}`);
      });
      await driver.ready();
    }

    bus.broadcast(news, { text: 'hello' });

    await waitFor(() => heard.length === 2);
    expect(heard.sort()).toEqual(['first: hello', 'third: hello']);
  });

  it('continues after a broadcast that is not JSON', async () => {
    const news = broadcast({ subject: 'probe.garbage', data: Anything });
    const heard: unknown[] = [];
    bus.listen(news, (data) => heard.push(data));
    await bus.ready();

    (await shared.connect()).broadcast('broadcast.probe.garbage', { head: '', body: '\u0001 not json' });
    bus.broadcast(news, { text: 'after' });

    await waitFor(() => heard.length > 0);
    expect(heard).toEqual([{ text: 'after' }]);
  });

  it('delivers channel messages to the subscribers of a key in order, from the moment that they are live', async () => {
    const follower = new ParleyClient(await shared.connect());
    const numbers = Array.from({ length: 500 }, (_, index) => index);
    const heard: Record<string, unknown[]> = { one: [], other: [], neighbour: [] };
    const live = [
      follower.subscribe(changes, 'key-1', ({ number }) => heard['one']!.push(number)).live,
      bus.subscribe(changes, 'key-1', ({ number }) => heard['other']!.push(number)).live,
      bus.subscribe(changes, 'key-2', ({ number }) => heard['neighbour']!.push(number)).live,
    ];
    await Promise.all(live);

    for (const number of numbers) bus.publishTo(changes, 'key-1', { number });
    bus.publishTo(changes, 'key-2', { number: 'for the neighbour' });

    await waitFor(
      () => ['one', 'other'].every((name) => heard[name]!.length === 500) && heard['neighbour']!.length > 0,
    );
    expect(heard).toEqual({ one: numbers, other: numbers, neighbour: ['for the neighbour'] });
  });

  it('serialises a channel message when it is published, and shares no object between subscribers', async () => {
    const data = { list: [1] };
    const heard: unknown[] = [];
    const take = ({ list }: Anything) => {
      heard.push([...(list as number[])]);
      (list as number[]).push(2);
    };
    await Promise.all([1, 2].map(() => bus.subscribe(changes, 'shared', take).live));

    bus.publishTo(changes, 'shared', data);
    data.list.push(3);

    await waitFor(() => heard.length === 2);
    expect(heard).toEqual([[1], [1]]);
    expect(data).toEqual({ list: [1, 3] });
  });

  it('delivers nothing after an unsubscribe, and continues for other subscribers', async () => {
    const heard: string[] = [];
    const leaving = bus.subscribe(changes, 'left', ({ text }) => {
      heard.push(`leaving: ${String(text)}`);
      leaving.stop();
    });
    await Promise.all([leaving.live, bus.subscribe(changes, 'left', ({ text }) => heard.push(String(text))).live]);

    for (const text of ['first', 'second', 'third']) bus.publishTo(changes, 'left', { text });

    await waitFor(() => heard.includes('third'));
    expect(heard.sort()).toEqual(['first', 'leaving: first', 'second', 'third']);
  });

  it('drops malformed channel messages and those on which a subscriber throws, and continues', async () => {
    const heard: unknown[] = [];
    const { live } = bus.subscribe(changes, 'garbage', (data) => {
      heard.push(data);
      if (data['text'] === 'poison') throw new Error('This follower is broken.');
    });
    await live;

    (await shared.connect()).broadcast('channel.probe.changes.garbage', { head: '', body: '\u0001 not json' });
    bus.publishTo(changes, 'garbage', { text: 'poison' });
    bus.publishTo(changes, 'garbage', { text: 'after' });

    await waitFor(() => heard.length === 2);
    expect(heard).toEqual([{ text: 'poison' }, { text: 'after' }]);
  });

  it.each(['', '*', '>', 'a.b', 'a b', 'a\n', 'ä'])('rejects the channel key %j', (key) => {
    expect(() => bus.publishTo(changes, key, {})).toThrow(TypeError);
    expect(() => bus.subscribe(changes, key, () => undefined)).toThrow(TypeError);
  });

  it('answers accepted requests when it drains, and accepts no more', async () => {
    const slow = probe();
    const news = broadcast({ subject: 'probe.drained', data: Anything });
    const leaving = await shared.connect();
    const echo = probe();
    let finish = () => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let taken = 0;
    let heard = 0;
    await answerWith(service, echo, (input) => input);
    await answerWith(leaving, slow, async () => {
      taken += 1;
      await finished;
      return { done: true };
    });
    new ParleyClient(leaving).listen(news, () => (heard += 1));
    new ParleyClient(leaving).subscribe(changes, 'drained', () => (heard += 1));
    await leaving.ready();
    const asked = Promise.all(Array.from({ length: 10 }, () => bus.call(slow, caller, {})));
    await waitFor(() => taken === 10);

    let isDrained = false;
    const draining = leaving.drain().then(() => (isDrained = true));
    await bus.call(echo, caller, {});
    expect(isDrained).toBe(false);
    finish();
    await draining;
    bus.broadcast(news, {});
    bus.publishTo(changes, 'drained', {});
    const after = await outcomeOf(bus.call(slow, caller, {}));

    await expect(asked).resolves.toEqual(Array.from({ length: 10 }, () => ({ done: true })));
    expect(after.error).toMatchObject({ code: 503 });
    expect(heard).toBe(0);
  });

  it('answers requests that outlast the drain timeout with an error', async () => {
    const endless = probe();
    const leaving = await shared.connect();
    let taken = 0;
    await answerWith(leaving, endless, () => {
      taken += 1;
      return new Promise(() => undefined);
    });
    await leaving.ready();
    const asked = outcomeOf(bus.call(endless, caller, {}));
    await waitFor(() => taken === 1);

    await leaving.drain(50);

    const { error } = await asked;
    expect(error).toMatchObject({
      type: 'OperationTimeout',
      message: expect.stringContaining('may still be done') as string,
    });
  });

  it('rejects a request above the body limit of the platform', async () => {
    const echo = probe();
    await answerWith(service, echo, () => ({}));
    const small = new ParleyClient(await shared.connect(100_000));

    const { error } = await outcomeOf(small.call(echo, caller, { text: 'x'.repeat(100_000) }));

    expect(error).toMatchObject({
      type: 'PayloadTooLarge',
      code: 413,
      message: expect.stringContaining('100000') as string,
    });
  });

  it('answers PayloadTooLarge when the answer is above the body limit of the platform', async () => {
    const grow = probe();
    const small = await shared.connect(100_000);
    await answerWith(small, grow, ({ size }) => ({ text: 'x'.repeat(size as number) }));
    const asking = new ParleyClient(await shared.connect(100_000));

    const { error } = await outcomeOf(asking.call(grow, caller, { size: 100_000 }));

    expect(error).toMatchObject({
      type: 'PayloadTooLarge',
      code: 413,
      message: expect.stringContaining('100000') as string,
    });
    await expect(asking.call(grow, caller, { size: 10 })).resolves.toEqual({ text: 'x'.repeat(10) });
  });

  it('carries bodies of 20 MB in both directions', async () => {
    const echo = probe(20_000);
    await answerWith(service, echo, (input) => input);
    const text = `${'ü🦜'.repeat(3_400_000)}.`;

    const answer = await bus.call(echo, caller, { text });

    expect(Buffer.byteLength(text)).toBeGreaterThan(20_000_000);
    expect(answer['text'] === text).toBe(true);
  });
}

function circle(): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}

/** Serves handlers that have enhancers of Nest. Each call of one is recorded. */
async function serveEnhanced(driver: Driver) {
  const [asked, refuse, fail, shut] = [probe(), probe(), probe(), probe()];
  const calls: string[] = [];
  const guard = {
    canActivate: (context: ExecutionContext) => {
      calls.push('guard');
      if (context.switchToRpc().getData<Anything>()['refused'])
        throw new ApiError('Forbidden', 'Refused by the guard.');
      return true;
    },
  };
  const interceptor = {
    intercept: (_context: ExecutionContext, next: CallHandler<object>) => {
      calls.push('interceptor before');
      return next.handle().pipe(
        map((answer) => {
          calls.push('interceptor after');
          return { ...answer, wrapped: true };
        }),
      );
    },
  };
  const pipe = {
    transform: (value: unknown, { type }: { type: string }) => {
      if (type === 'body') calls.push('pipe');
      return value;
    },
  };
  const filter = {
    catch: (error: unknown, host: ArgumentsHost) => {
      calls.push('filter');
      if (host.switchToRpc().getData<Anything>()['replaced'])
        throw new ApiError('RelationConflict', 'Replaced by the filter.');
      throw error;
    },
  };

  @Controller()
  class EnhancedController {
    @Handles(asked)
    @UseGuards(guard)
    @UseInterceptors(interceptor)
    @UsePipes(pipe)
    @UseFilters(filter)
    async asked({ requestId }: Caller, input: Anything): Promise<Anything> {
      calls.push('handler');
      if (input['replaced']) throw new Error('a defect');
      return { asked: requestId };
    }

    @Handles(refuse)
    @UseInterceptors(interceptor)
    async refuse(): Promise<Anything> {
      throw new ApiError('Forbidden', 'No.');
    }

    @Handles(fail)
    @UseGuards(guard)
    @UseInterceptors(interceptor)
    async fail(): Promise<Anything> {
      throw new Error('password=hunter2');
    }

    @Handles(shut)
    @UseGuards({ canActivate: () => false })
    async shut(): Promise<Anything> {
      return {};
    }
  }

  await startServer({ contract: { asked, refuse, fail, shut }, driver }, [EnhancedController]);
  await driver.ready();
  return { asked, calls, refuse, fail, shut };
}
