import { setTimeout as sleep } from 'node:timers/promises';
import { deleteStream } from '@parley/bus/test/broker';
import { sendSignal } from '@parley/local-postgres/server';
import { until } from '@parley/testing/until';
import { appNames, type AppName } from '../fleet';
import type { Replica } from '../replica';
import type { Random } from './random';
import { type AppWithDatabase, type Stage, withDatabase } from './stage';

const comesBackWithinMs = 120_000;

/** Does something that happens to machines, and heals it. */
export interface Harm {
  kind: string;
  /** What is harmed: nothing is harmed in two ways at once. */
  target: string;
  /** Resolves when all is as before. */
  happen(stage: Stage): Promise<void>;
}

export const harms = {
  kill: (app: AppName, place: number, awayMs: number): Harm => ({
    kind: `kill -9 of ${app}`,
    target: `${app} ${place}`,
    happen: async ({ fleet }) => {
      const replica = fleet.replicas(app)[place]!;
      await replica.end('SIGKILL');
      await sleep(awayMs);
      await revive(replica);
    },
  }),

  pause: (app: AppName, place: number, forMs: number): Harm => ({
    kind: `pause of ${app}`,
    target: `${app} ${place}`,
    happen: async ({ fleet }) => {
      const replica = fleet.replicas(app)[place]!;
      replica.signal('SIGSTOP');
      await sleep(forMs);
      replica.signal('SIGCONT');
    },
  }),

  killNats: (awayMs: number): Harm => ({
    kind: 'kill -9 of NATS',
    target: 'NATS',
    happen: async ({ fleet: { nats } }) => {
      await nats.kill();
      await sleep(awayMs);
      await nats.run();
    },
  }),

  restartNats: (): Harm => ({
    kind: 'restart of NATS',
    target: 'NATS',
    happen: async ({ fleet: { nats } }) => {
      await nats.kill('SIGTERM');
      await nats.run();
    },
  }),

  wipeNats: (): Harm => ({
    kind: 'NATS without its disk',
    target: 'NATS',
    happen: async ({ fleet: { nats } }) => {
      await nats.kill();
      await nats.wipe();
      await nats.run();
    },
  }),

  loseStream: (): Harm => ({
    kind: 'loss of the stream',
    target: 'NATS',
    // There may be none yet after other harm.
    happen: async ({ fleet: { nats } }) => {
      const wasThere = () =>
        deleteStream(nats).then(
          () => true,
          () => false,
        );
      await until(wasThere, Boolean, comesBackWithinMs);
    },
  }),

  killPostgres: (): Harm => ({
    kind: 'kill -9 of Postgres',
    target: 'Postgres',
    happen: (stage) => endPostgres(stage, 'SIGKILL'),
  }),

  restartPostgres: (): Harm => ({
    kind: 'restart of Postgres',
    target: 'Postgres',
    happen: (stage) => endPostgres(stage, 'SIGINT'),
  }),

  delay: (app: AppWithDatabase, byMs: number, forMs: number): Harm => ({
    kind: 'slow way to Postgres',
    target: `way of ${app}`,
    happen: async ({ links }) => {
      const link = links.get(app)!;
      link.delayMs = byMs;
      await sleep(forMs);
      link.delayMs = 0;
    },
  }),

  cut: (app: AppWithDatabase): Harm => ({
    kind: 'cut way to Postgres',
    target: `way of ${app}`,
    happen: async ({ links }) => links.get(app)!.cut(),
  }),

  /** Nobody is told, and what is on its way when it ends never arrives. */
  silence: (app: AppWithDatabase, what: 'answers' | 'everything', forMs: number): Harm => ({
    kind: 'silent way to Postgres',
    target: `way of ${app}`,
    happen: async ({ links }) => {
      const link = links.get(app)!;
      link.state = `swallows ${what}`;
      await sleep(forMs);
      link.cut();
      link.state = 'carries';
    },
  }),
};

/** Each kind as likely as any other of the row. */
export function anyHarm(random: Random): Harm {
  const app = random.oneOf(appNames);
  const service = random.oneOf(withDatabase);
  const place = random.between(0, 2);
  const kinds: (() => Harm)[] = [
    () => harms.kill(app, place, random.between(0, 2_000)),
    () => harms.kill(app, place, random.between(0, 2_000)),
    () => harms.kill(app, place, random.between(0, 2_000)),
    () => harms.pause(app, place, random.between(200, 7_000)),
    () => harms.pause(app, place, random.between(200, 7_000)),
    () => harms.killNats(random.between(0, 3_000)),
    () => harms.restartNats(),
    () => harms.wipeNats(),
    () => harms.loseStream(),
    () => harms.killPostgres(),
    () => harms.restartPostgres(),
    () => harms.delay(service, random.between(50, 800), random.between(1_000, 6_000)),
    () => harms.cut(service),
    () => harms.silence(service, random.oneOf(['answers', 'everything']), random.between(500, 5_000)),
  ];
  return random.oneOf(kinds)();
}

/** One that ends because it cannot start yet is started again, as everything does that runs processes. */
async function revive(replica: Replica): Promise<void> {
  let launches = 0;
  const launchUntilReady = async () => {
    if (!replica.isRunning) {
      launches += 1;
      await replica.launch();
    }
    await sleep(100);
    return replica.isReady();
  };
  await until(launchUntilReady, Boolean, comesBackWithinMs).catch(() => {
    throw new Error(
      `${replica.name} was launched ${launches} times and not ready within ${comesBackWithinMs} ms: ${replica.output.slice(-5_000)}`,
    );
  });
}

/** It is started again by itself. */
async function endPostgres({ postgres }: Stage, signal: NodeJS.Signals): Promise<void> {
  const { pid } = postgres;
  if (pid) sendSignal(pid, signal);
  await until(() => postgres.pid !== null && postgres.pid !== pid, Boolean, comesBackWithinMs);
}
