import {
  type CallHandler,
  Controller,
  Injectable,
  type Provider,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { anyone } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { consumer, type Contract, event, operation } from '@parley/contracts/operation';
import { ParleyClient } from './parley-client';
import type { Handled } from './parley-server';
import { waitFor } from '@parley/testing/wait-for';
import { recordSpans } from '@parley/tracing/test/recorded-spans';
import type { Delivery, EventStream, WorkingConsumer } from './event-stream';
import { Consumes, Handles } from './handles';
import { InProcessHub, InProcessDriver } from './in-process-driver';
import { largeBodyBytes } from './message';
import { Anything, caller, silent, startServer } from './test/probe';

function ask(subject: string) {
  return operation({ subject, summary: 'A probe.', access: anyone, input: Anything, output: Anything });
}

const first = ask('probe.first');
const second = ask('probe.second');
const happened = event({ subject: 'probe.happened', data: Anything });

@Controller()
class FirstController {
  private readonly greeting = 'hello';

  @Handles(first)
  async first(): Promise<Anything> {
    return { greeting: this.greeting };
  }
}

@Controller()
class AnotherFirstController {
  @Handles(first)
  async alsoFirst(): Promise<Anything> {
    return {};
  }
}

@Controller()
class SecondController {
  @Handles(second)
  async second(): Promise<Anything> {
    throw new ApiError('Forbidden', 'No.');
  }
}

@Controller()
class Recorder {
  readonly seen: unknown[] = [];

  @Consumes(consumer({ name: 'probe.record', event: happened, concurrency: 3, maxDeliveries: 7 }))
  async record(data: Anything): Promise<void> {
    if (data['refused']) throw new Error('No.');
    this.seen.push(data);
  }
}

@Controller()
class OtherRecorder {
  @Consumes(consumer({ name: 'probe.record', event: happened }))
  async record(): Promise<void> {}
}

class QuietStream implements EventStream {
  readonly isOpen = true;

  readonly canLose = false;

  readonly consumers: WorkingConsumer[] = [];

  async publish(): Promise<undefined> {}

  async keeps(): Promise<boolean> {
    return true;
  }

  async consume(consumer: WorkingConsumer): Promise<void> {
    this.consumers.push(consumer);
  }

  async isConsumed(): Promise<boolean> {
    return false;
  }

  isDrained = false;

  async drain(): Promise<void> {
    this.isDrained = true;
  }
}

async function boot(contract: Contract, controllers: Type[], providers: Provider[] = []) {
  const driver = new InProcessDriver(new InProcessHub(), 2 * largeBodyBytes, silent);
  const events = new QuietStream();
  const handled: Handled[] = [];
  const deadLetters: unknown[][] = [];
  const { server, container } = await startServer(
    {
      contract,
      driver,
      events,
      deadLetter: async (...letter) => void deadLetters.push(letter),
      observe: (line) => handled.push(line),
    },
    controllers,
    providers,
  );
  return { bus: new ParleyClient(driver), server, container, events, handled, deadLetters };
}

describe('The boot of a service', () => {
  it('registers the handler of every operation of its contract, including nested groups', async () => {
    const { bus } = await boot({ first, group: { second } }, [FirstController, SecondController]);

    await expect(bus.call(first, caller, {})).resolves.toEqual({ greeting: 'hello' });
    await expect(bus.call(second, caller, {})).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('fails the boot when an operation has no handler, and names the operation', async () => {
    await expect(boot({ first, second }, [FirstController])).rejects.toThrow(
      'probe has no handler for: probe.second. Mark a method of one of its controllers with @Handles.',
    );
  });

  it('fails the boot when an operation has two handlers, and names the operation', async () => {
    const controllers = [FirstController, AnotherFirstController];

    await expect(boot({ first }, controllers)).rejects.toThrow('probe.first has two handlers');
  });

  it('fails the boot when a handler serves an operation outside of the contract, and names it', async () => {
    const controllers = [FirstController, SecondController];

    await expect(boot({ first }, controllers)).rejects.toThrow('outside of its contract: probe.second.');
  });

  it('fails the boot when a declared consumer has no handler that Nest finds', async () => {
    const declared = consumer({ name: 'probe.declared', event: happened });
    @Injectable()
    class LostRecorder {
      @Consumes(declared)
      async record(): Promise<void> {}
    }
    const driver = new InProcessDriver(new InProcessHub(), 1_000_000, silent);

    const booted = startServer({ contract: {}, consumers: [declared], driver }, [], [LostRecorder]);

    await expect(booted).rejects.toThrow('probe has no handler for the consumers: probe.declared.');
  });

  it('fails the boot when two consumers have the same name', async () => {
    await expect(boot({}, [Recorder, OtherRecorder])).rejects.toThrow('Two consumers are named probe.record');
  });

  it('consumes with the concurrency and deliveries that the consumer declares', async () => {
    const { events } = await boot({}, [Recorder]);

    expect(events.consumers).toMatchObject([
      { name: 'probe.record', subject: 'probe.happened', concurrency: 3, maxDeliveries: 7 },
    ]);
  });
});

describe('A handler of events', () => {
  it('runs a handler of events with guards and interceptors of Nest, and acknowledges after it', async () => {
    const calls: string[] = [];
    let finish = () => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const guard = { canActivate: () => calls.push('guard') > 0 };
    const interceptor = {
      intercept: (_context: unknown, next: CallHandler) => {
        calls.push('interceptor');
        return next.handle();
      },
    };
    @Controller()
    class EnhancedRecorder {
      @Consumes(consumer({ name: 'probe.enhanced', event: happened }))
      @UseGuards(guard)
      @UseInterceptors(interceptor)
      async record(data: Anything, { attempt }: Delivery): Promise<void> {
        await finished;
        calls.push(`handler ${String(data['number'])} ${attempt}`);
      }
    }
    const { events } = await boot({}, [EnhancedRecorder]);
    const event = { id: 'event-1', subject: happened.subject, data: { number: 5 } };
    let isAcknowledged = false;

    const handled = events.consumers[0]!.handle({ event, attempt: 2, signal: new AbortController().signal });
    void handled.then(() => (isAcknowledged = true));
    await waitFor(() => calls.length === 2);
    expect(isAcknowledged).toBe(false);
    finish();
    await handled;

    expect(calls).toEqual(['guard', 'interceptor', 'handler 5 2']);
  });

  it('refuses a handler of events without a contract', async () => {
    @Controller()
    class LooseController {
      @MessagePattern('probe.loose')
      answer(): string {
        return 'loose';
      }
    }

    await expect(boot({}, [LooseController])).rejects.toThrow(
      'The handler of probe.loose has no contract: mark it with @Handles or @Consumes.',
    );
  });
});

describe('A message', () => {
  it('observes a message with its outcome', async () => {
    const { bus, handled } = await boot({ first, second }, [FirstController, SecondController]);

    await bus.call(first, caller, {});
    await bus.call(second, caller, {}).catch(() => undefined);

    expect(handled.map(({ kind, subject, outcome }) => [kind, subject, outcome])).toEqual([
      ['operation', 'probe.first', 'ok'],
      ['operation', 'probe.second', 'Forbidden'],
    ]);
    expect(handled.every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  it('leaves a turn of the event loop to others before a large answer is sent', async () => {
    const order: string[] = [];
    @Controller()
    class LargeController {
      @Handles(first)
      async first(): Promise<Anything> {
        return {
          toJSON: () => {
            setImmediate(() => order.push('other work'));
            return { text: 'x'.repeat(largeBodyBytes) };
          },
        };
      }
    }
    const { bus } = await boot({ first }, [LargeController]);

    await bus.call(first, caller, {});

    expect(order).toEqual(['other work']);
  });

  it('passes an event to its handler, and the error of the handler to the stream', async () => {
    const { container, events, handled } = await boot({}, [Recorder]);
    const delivery = (data: unknown) => ({
      event: { id: 'event-1', subject: happened.subject, data },
      attempt: 1,
      signal: new AbortController().signal,
    });

    await events.consumers[0]!.handle(delivery({ number: 1 }));
    await expect(events.consumers[0]!.handle(delivery({ refused: true }))).rejects.toThrow('No.');

    expect(container.get(Recorder).seen).toEqual([{ number: 1 }]);
    expect(handled.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['event', 'ok'],
      ['event', 'Internal'],
    ]);
  });

  it('records a span with the outcome of each delivery of an event, in the trace of its publisher', async () => {
    const { events } = await boot({}, [Recorder]);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const { signal } = new AbortController();
    const deliver = (attempt: number, data: object) =>
      events.consumers[0]!.handle({
        event: { id: 'event-1', subject: happened.subject, data, traceparent },
        attempt,
        signal,
      });
    const recorded = recordSpans();

    await deliver(1, { refused: true }).catch(() => undefined);
    await deliver(2, {});
    const spans = recorded.spans();
    await recorded.stop();

    const about = { kind: 'consumer', traceId: traceparent.slice(3, 35), parentId: traceparent.slice(36, 52) };
    expect(spans).toMatchObject([
      { ...about, hasFailed: true, attributes: { 'parley.attempt': 1, 'parley.outcome': 'Internal' } },
      { ...about, hasFailed: false, attributes: { 'parley.attempt': 2, 'parley.outcome': 'ok' } },
    ]);
  });

  it('does not count an event as failed when a stopping process gives it back', async () => {
    const { events, handled } = await boot({}, [Recorder]);
    const event = { id: 'event-1', subject: happened.subject, data: { refused: true } };
    const delivery = { event, attempt: 1, signal: AbortSignal.abort() };

    await expect(events.consumers[0]!.handle(delivery)).rejects.toThrow('No.');

    expect(handled).toMatchObject([{ kind: 'event', outcome: 'given back' }]);
  });

  it('stores an event without deliveries left as a dead letter of the service', async () => {
    const { events, deadLetters } = await boot({}, [Recorder]);
    const dead = { id: 'event-1', subject: happened.subject, data: {} };

    await events.consumers[0]!.deadLetter(dead, 7, 'It does not work.');

    expect(deadLetters).toEqual([['probe.record', dead, 7, 'It does not work.']]);
  });

  it('delivers a message without end, without a dead letter, in a service without a store for them', async () => {
    const driver = new InProcessDriver(new InProcessHub(), 1_000_000, silent);
    const events = new QuietStream();
    await startServer({ contract: {}, driver, events, deadLetter: undefined }, [Recorder]);

    const [recorder] = events.consumers;
    expect(recorder!.maxDeliveries).toBe(Infinity);
    await expect(
      recorder!.deadLetter({ id: 'event-1', subject: '', data: '' }, 1, 'Garbage.'),
    ).resolves.toBeUndefined();
  });

  it('leaves the events of other services running when a service without consumers drains', async () => {
    const driver = new InProcessDriver(new InProcessHub(), 1_000_000, silent);
    const events = new QuietStream();
    const { server: quiet } = await startServer({ contract: {}, driver, events }, []);
    const { server: busy } = await startServer({ contract: {}, driver, events }, [Recorder]);

    await quiet.drain();
    expect(events.isDrained).toBe(false);
    await busy.drain();
    expect(events.isDrained).toBe(true);
  });
});
