import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbedded } from '@parley/testing/running-platform';
import { runLoad } from './load';
import { peaks, postgresMb, residentMb } from './memory';
import { type Candidate, startDistributedSide, startEmbeddedSide } from './requests';
import type { Result, Row } from './result';
import { median } from './statistics';
import { newLogFile, productEnv, type Workbench } from './workbench';

/** Time for background work after a start to finish. */
const settleMs = 3_000;

/** Start-up time in seconds until the process is ready, including its Postgres, with a new and an existing data folder. */
export async function benchStart(bench: Workbench): Promise<Result[]> {
  const { session, options, folder } = bench;
  const times = { new: [] as number[], existing: [] as number[] };
  for (let round = 0; round < options.rounds; round++) {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    for (const kind of ['new', 'existing'] as const) {
      session.checkpoint();
      const how = { ownPostgres: true, dataDir, env: productEnv(bench), logFile: newLogFile(bench) };
      const start = performance.now();
      const platform = session.keep(await startEmbedded(how));
      times[kind].push((performance.now() - start) / 1000);
      await platform.stop();
    }
    await rm(dataDir, { recursive: true });
  }
  const of = (name: string, seconds: number[], below: number) => ({
    row: { name, figures: { 'ready after s': median(seconds) } },
    aim: {
      name: `ready, ${name}`,
      value: median(seconds),
      spread: [Math.min(...seconds), Math.max(...seconds)] as [number, number],
      unit: ' s',
      below,
    },
  });
  const both = [of('existing data folder', times.existing, 3), of('new data folder', times.new, 6)];
  return [
    {
      title: `Embedded mode: start-up; ${options.rounds} starts of each kind`,
      rows: both.map(({ row }) => row),
      aims: both.map(({ aim }) => aim),
      notes: [],
      errors: [],
      rounds: { starts: [times] },
    },
  ];
}

/** Memory of each process after its start, and its peak under reads and writes. */
export async function benchMemory(bench: Workbench, mode: 'embedded' | 'distributed'): Promise<Result[]> {
  const { side, processes } = mode === 'embedded' ? await openEmbeddedMode(bench) : await openDistributedMode(bench);
  const read = () => [...Object.values(processes).map(residentMb), postgresMb(bench.postgresPid)];
  await sleep(settleMs);
  const idle = read();
  const busy = await peaks(read, () => readAndWrite(bench, side));
  const rows = [...Object.keys(processes), 'postgres'].map((name, i): Row => {
    return { name, figures: { 'idle MB': idle[i]!, 'under load MB': busy[i]! } };
  });
  return [
    {
      title: `${mode === 'embedded' ? 'Embedded' : 'Distributed'} mode: memory of each process`,
      rows,
      aims: [],
      notes: ['Resident memory; for Postgres the sum of all processes with shared memory counted once.'],
      errors: [],
      rounds: {},
    },
  ];
}

async function openEmbeddedMode(bench: Workbench) {
  const side = await startEmbeddedSide(bench);
  return { side, processes: side.processes };
}

async function openDistributedMode(bench: Workbench) {
  const { product, nats } = await startDistributedSide(bench);
  return { side: product, processes: { ...product.processes, 'nats-server': nats.pid } };
}

async function readAndWrite({ options: { connections, seconds } }: Workbench, side: Candidate): Promise<void> {
  for (const next of [side.read, side.write]) await runLoad({ url: side.url, next, connections, seconds: 2 * seconds });
}
