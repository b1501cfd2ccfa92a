import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, NestFactory } from '@nestjs/core';
import { anyone } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { type Operation, operation } from '@parley/contracts/operation';
import { createLogger } from '@parley/logging/logger';
import { Dispatcher } from '../parley-server';
import { Handles } from '../handles';
import type { NatsLink } from '../nats-connection';
import type { Transport } from '../driver';

export const silent = createLogger('test', (process.env['LOG_LEVEL'] ?? 'silent') as 'silent');
export const caller: Caller = { requestId: 'request-1', credential: 'none' };

export class Anything {
  [name: string]: unknown;
}

/** Deadline that no test reaches. */
export const anHour = 3_600_000;

let probes = 0;

/** Operation with a subject that no other test uses. */
export function probe(timeoutMs = 10_000): Operation<Anything, Anything> {
  probes += 1;
  const subject = `probe.ask${probes}`;
  return operation({ subject, summary: 'A probe.', access: anyone, input: Anything, output: Anything, timeoutMs });
}

type ProbeHandler = (input: Anything, caller: Caller) => unknown;

/** Serves the operation as a service does: a controller in its own Nest container. */
export async function answerWith(
  transport: Transport,
  asked: Operation<Anything, Anything>,
  handler: ProbeHandler,
): Promise<void> {
  @Controller()
  class ProbeController {
    @Handles(asked)
    async answer(by: Caller, input: Anything): Promise<Anything> {
      return (await handler(input, by)) as Anything;
    }
  }
  @Module({})
  class ProbeModule {
    static register(): DynamicModule {
      return { module: ProbeModule, imports: [DiscoveryModule], controllers: [ProbeController] };
    }
  }
  const container = await NestFactory.createApplicationContext(ProbeModule.register(), { logger: false });
  const dispatcher = new Dispatcher(
    {
      service: 'probe',
      contract: { asked },
      transport,
      events: noEvents,
      bury: () => Promise.resolve(),
      logger: silent,
      observe: () => undefined,
    },
    container.get(DiscoveryService),
  );
  await dispatcher.start();
  await transport.ready();
}

const refuse = () => Promise.reject(new Error('A probe has no events.'));
const noEvents = { isOpen: false, publish: refuse, keeps: refuse, consume: refuse, drain: () => Promise.resolve() };

export function countStatuses({ connection }: NatsLink): Record<string, number> {
  const counts: Record<string, number> = {};
  const count = async () => {
    for await (const { type } of connection.status()) counts[type] = (counts[type] ?? 0) + 1;
  };
  void count();
  return counts;
}

export async function outcomeOf<T>(work: Promise<T>): Promise<{ error?: unknown; value?: T }> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}
