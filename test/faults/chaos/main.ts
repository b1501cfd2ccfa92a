import { parseArgs } from 'node:util';
import { optionsOrExit } from '../command-line';
import { runChaos, type ChaosReport } from './chaos';
import { anyHarm, type Harm } from './harm';
import { Random } from './random';
import { Stage } from './stage';
import { type Stores, storesOf } from './stores';

const usage = `npm run chaos -- [options]

  --seconds <n>   duration of the faults (600)
  --seed <n>      repeats the faults of an earlier run (random)

QDRANT_URL (and QDRANT_API_KEY) keeps vectors in Qdrant, S3_BUCKET with S3_ENDPOINT, S3_REGION, S3_PATH_STYLE,
S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY contents in S3. A run deletes its data there at the end.
`;

interface Options {
  seconds: number;
  seed: number;
  stores: Stores;
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({ args, options: { seconds: { type: 'string' }, seed: { type: 'string' } } });
  const seconds = Number(values.seconds ?? 600);
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  if (!(seconds > 0)) throw new Error('--seconds must be a number greater than 0.');
  if (!Number.isSafeInteger(seed)) throw new Error('--seed must be a whole number.');
  return { seconds, seed, stores: storesOf(process.env) };
}

function* harmsOf(random: Random): Generator<Harm> {
  for (;;) yield anyHarm(random);
}

async function main({ seconds, seed, stores }: Options): Promise<boolean> {
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // A second Ctrl-C ends at once.
      if (interruption.signal.aborted) process.exit(130);
      interruption.abort();
      console.log('Stopping: the run so far is still checked.');
    });
  }
  const contents = stores.bucket ? `the bucket ${stores.bucket.bucket}` : 'a folder';
  const vectors = stores.qdrant ? `Qdrant at ${new URL(stores.qdrant.url).host}` : 'Postgres';
  console.log(`seed ${seed}, ${seconds} s, contents in ${contents}, vectors in ${vectors}`);
  const stage = await Stage.open(stores);
  // A paused process would otherwise survive.
  const killAll = () => stage.fleet.all.forEach((replica) => replica.signal('SIGKILL'));
  process.on('exit', killAll);
  try {
    const started = Date.now();
    const tell = (line: string) => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`);
    const harms = harmsOf(new Random(seed));
    const report = await runChaos(stage, { seed, seconds, harms, tell, signal: interruption.signal });
    print(report);
    const isGood = report.unclean.length === 0 && report.violations.length === 0;
    console.log(
      `${isGood ? 'No findings.' : 'FINDINGS: see above.'} Repeat: npm run chaos -- --seconds ${seconds} --seed ${seed}`,
    );
    return isGood;
  } finally {
    await stage.close();
    process.off('exit', killAll);
  }
}

function print({ requests, harms, files, writes, settledMs, unclean, violations }: ChaosReport): void {
  const line = (name: string, counts: Record<string, number>) =>
    console.log(
      `${name}: ${Object.entries(counts)
        .map(([what, count]) => `${count} ${what}`)
        .join(', ')}`,
    );
  line('requests', requests);
  line('harm done', harms);
  line('acknowledged', writes);
  line('files', files);
  console.log(`settled ${settledMs} ms after the last request`);
  console.log(`${unclean.length} unclean answers, ${violations.length} violations`);
  for (const finding of [...unclean, ...violations].slice(0, 50)) console.log(`  ${finding}`);
}

main(optionsOrExit(usage, readOptions)).then(
  (isGood) => (process.exitCode = isGood ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
