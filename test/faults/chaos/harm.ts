import { setTimeout as sleep } from 'node:timers/promises';
import { deleteStream } from '@parley/transport/test/broker';
import { sendSignal } from '@parley/local-postgres/server';
import { waitFor } from '@parley/testing/wait-for';
import { appNames, type AppName } from '../fleet';
import type { Replica } from '../replica';
import type { Random } from './random';
import { type AppWithDatabase, type Stage, withDatabase } from './stage';

const comesBackWithinMs = 120_000;

export interface Harm {
  kind: string;
  /** Fault target: never has two faults at once. */
  target: string;
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
    // The stream may be missing after an earlier fault.
    happen: async ({ fleet: { nats } }) => {
      const wasThere = () =>
        deleteStream(nats).then(
          () => true,
          () => false,
        );
      await waitFor(wasThere, Boolean, comesBackWithinMs);
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
    kind: 'slow connection to Postgres',
    target: `connection of ${app}`,
    happen: async ({ links }) => {
      const link = links.get(app)!;
      link.delayMs = byMs;
      await sleep(forMs);
      link.delayMs = 0;
    },
  }),

  cut: (app: AppWithDatabase): Harm => ({
    kind: 'cut connection to Postgres',
    target: `connection of ${app}`,
    happen: async ({ links }) => links.get(app)!.cut(),
  }),

  /** Neither side gets an error, and data in transit at the end never arrives. */
  silence: (app: AppWithDatabase, what: 'answers' | 'everything', forMs: number): Harm => ({
    kind: 'silent connection to Postgres',
    target: `connection of ${app}`,
    happen: async ({ links }) => {
      const link = links.get(app)!;
      link.state = `swallows ${what}`;
      await sleep(forMs);
      link.cut();
      link.state = 'carries';
    },
  }),
};

/** Random fault; the repeated entries are weights. */
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

/** Restarts the process until it is ready, as a supervisor does when dependencies are missing. */
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
  await waitFor(launchUntilReady, Boolean, comesBackWithinMs).catch(() => {
    throw new Error(
      `${replica.name} was started ${launches} times and not ready within ${comesBackWithinMs} ms: ${replica.output.slice(-5_000)}`,
    );
  });
}

/** The server restarts itself. */
async function endPostgres({ postgres }: Stage, signal: NodeJS.Signals): Promise<void> {
  const { pid } = postgres;
  if (pid) sendSignal(pid, signal);
  await waitFor(() => postgres.pid !== null && postgres.pid !== pid, Boolean, comesBackWithinMs);
}
