import { deleteConsumers, deleteStream } from '@parley/transport/test/broker';
import { clientOf } from '@parley/testing/api';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { Fleet } from './fleet';
import { Load } from './load';
import { declare } from './promised-file';

jest.setTimeout(180_000);
const suite = hasNatsServer() ? describe : describe.skip;

/** Time limit for all accepted work after the broker is back. */
const settledWithinMs = 60_000;
/** Errors that clients may get: the request was not sent, or its answer was lost. */
const cleanRefusal =
  /^503 .*"The (bus is not connected|connection to the bus broke)|^503 .*"No service instance is available|^504 .*"The connection broke before/;

/** Injects a fault into the broker. Calls `whileAway` while no process can reach it. */
type Fault = (fleet: Fleet, whileAway: () => Promise<void>) => Promise<void>;

const faults: Record<string, Fault> = {
  'is stopped and started': async ({ nats }, whileAway) => {
    await nats.kill('SIGTERM');
    await whileAway();
    await nats.run();
  },
  'is killed and comes back without its data': async ({ nats }, whileAway) => {
    await nats.kill();
    await nats.wipe();
    await whileAway();
    await nats.run();
  },
  'loses its stream': ({ nats }) => deleteStream(nats),
  'loses its consumers': ({ nats }) => deleteConsumers(nats),
};

suite('Uploads and indexing continue, and every file gets a final status, when NATS', () => {
  let embeddings: EmbeddingServer;
  let fleet: Fleet;

  beforeAll(async () => {
    embeddings = await EmbeddingServer.start();
    // Slow enough that there are running and waiting files whenever the fault happens.
    embeddings.order('load', { delayMs: 300 });
    fleet = await Fleet.start({
      isSecured: true,
      replicasOf: { tables: 0, chat: 0, runtime: 0, runner: 0 },
      env: { EMBEDDINGS_URL: embeddings.url, SWEEP_INTERVAL_MS: '500' },
    });
  });

  afterAll(async () => {
    await fleet?.stop();
    await embeddings?.stop();
  });

  it.each(Object.entries(faults))(
    'continues uploads and indexing, with a final status of every file, when NATS %s',
    async (name, fault) => {
      const ledger = new Ledger();
      const { bot } = await clientOf(fleet).createBot({});
      ledger.bot(bot.id);
      const held = await Promise.all([1, 2, 3].map((number) => declare(fleet, ledger, bot.id, `held${number}`)));
      const load = new Load(fleet, ledger, bot.id, { requestsPerSecond: 20, indexEvery: 1 });
      await load.start();
      await load.answersMore(20);

      let wasAway = false;
      await fault(fleet, async () => {
        wasAway = true;
        await waitFor(
          () => load.failures.length,
          (count) => count >= 10,
        );
        expect(await Promise.all(held.map((file) => file.upload()))).toEqual([200, 200, 200]);
      });
      const over = performance.now();
      await load.answersMore(20);
      const { answered, failures } = await load.stop();
      const findings = await new Checker(fleet, ledger).findings(over + settledWithinMs - performance.now());

      const settledMs = Math.round(performance.now() - over);
      process.stderr.write(
        `NATS ${name}: all at rest after ${settledMs} ms, ${answered} answers, ${failures.length} refusals\n`,
      );
      if (findings.length > 0) process.stderr.write(fleet.warnings.join('\n'));
      expect(findings).toEqual([]);
      expect(failures.filter(({ outcome }) => !cleanRefusal.test(outcome))).toEqual([]);
      expect(failures.length > 0).toBe(wasAway);
    },
  );
});
