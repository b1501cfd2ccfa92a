import { Controller, type INestMicroservice, Module, type Provider, type Type } from '@nestjs/common';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { NestFactory } from '@nestjs/core';
import { anyone } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { type Operation, operation } from '@parley/contracts/operation';
import { createLogger } from '@parley/logging/logger';
import { ParleyServer, type ParleyServerOptions } from '../parley-server';
import { Handles } from '../handles';
import type { NatsLink } from '../nats-connection';
import type { Driver } from '../driver';

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
  driver: Driver,
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
  await startServer({ contract: { asked }, driver }, [ProbeController]);
  await driver.ready();
}

/** Starts a service of these handlers: a Nest container with ParleyServer as its strategy. */
export async function startServer(
  options: Pick<ParleyServerOptions, 'contract' | 'driver'> & Partial<ParleyServerOptions>,
  controllers: Type[],
  providers: Provider[] = [],
): Promise<{ server: ParleyServer; container: INestMicroservice }> {
  @Module({ controllers, providers })
  class ProbeModule {}

  const server = new ParleyServer({
    service: 'probe',
    events: noEvents,
    deadLetter: () => Promise.resolve(),
    logger: silent,
    observe: () => undefined,
    ...options,
  });
  const container = await NestFactory.createMicroservice<MicroserviceOptions>(ProbeModule, {
    strategy: server,
    logger: false,
    abortOnError: false,
  });
  container.useGlobalFilters(passErrors);
  await container.listen();
  return { server, container };
}

/** Message side of ApiExceptionFilter. */
const passErrors = {
  catch: (error: unknown) => {
    throw error;
  },
};

const refuse = () => Promise.reject(new Error('A probe has no events.'));
const noEvents = {
  isOpen: false,
  canLose: false,
  publish: refuse,
  keeps: refuse,
  consume: refuse,
  isConsumed: refuse,
  drain: () => Promise.resolve(),
};

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
