import { randomUUID } from 'node:crypto';
import { filesDatabase } from '../apps/files/src/files.module';
import { documentTerms, queryTerms } from '@parley/passages/lexicon';
import { LocalIndex } from '@parley/passages/local-index';
import { LocalIndexRepository } from '@parley/passages/local-index.repository';
import { TopK } from '@parley/passages/top-k';
import { dot } from '@parley/passages/vectors';
import { Database } from '@parley/persistence/database';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { type CpuUse, measureCpu } from './cpu';
import type { Aim, Result, Row } from './result';
import { dimensions, query, randomText, randomVector } from './search';
import { median, pairedRatio } from './statistics';
import { poolSize, type Workbench } from './workbench';

const sizes = [10_000, 100_000];
const embedder = { model: 'bench', dimensions };
const pointsPerWrite = 500;
const pointsPerFile = 200;
/** Of `searchFiles`: three times the passages that it answers with. */
const limit = 60;
const searchesPerRound = 20;
const colours = ['red', 'green', 'blue', 'white'];
const rareWord = 'word17000';

interface Round {
  wallMs: number;
  cpuMs: number;
  cpu: CpuUse;
}

/**
 * Searches of the local index in this process beside an exact comparison of the same vectors as 32-bit floats, in turns. The
 * index also searches words, and reads exact vectors from Postgres.
 */
export async function benchPassageIndex(bench: Workbench): Promise<Result[]> {
  const { session, options, postgresPid } = bench;
  const empty = await createEmptyDatabase();
  session.keep({ stop: () => empty.drop() });
  const database = await Database.open({ url: empty.url, ...filesDatabase, poolSize });
  session.keep({ stop: () => database.close() });
  await database.migrate();
  const open = () => {
    const index = new LocalIndex({ repository: new LocalIndexRepository(database), embedder });
    return session.keep({ index, stop: () => index.close() }).index;
  };

  const rows: Row[] = [];
  const aims: Aim[] = [];
  const medians: number[] = [];
  for (const size of sizes) {
    const bot = randomUUID();
    const index = open();
    const vectors = await fill(bench, index, bot, size);
    await database.query('VACUUM ANALYZE');
    const ask = { vector: randomVector(), terms: queryTerms(query), limit };
    const [unstored] = await timed(postgresPid, () => index.search(bot, ask));
    // Closing waits until the blocks are stored.
    await index.close();
    const first: Round[] = [];
    let warm = open();
    for (let round = 0; round < options.rounds; round++) {
      await warm.close();
      warm = open();
      first.push((await timed(postgresPid, () => warm.search(bot, ask)))[0]);
    }
    const tags = { colour: { in: ['red'], notIn: [] } };
    const works: Record<string, () => unknown> = {
      search: () => warm.search(bot, { ...ask, vector: randomVector() }),
      'search of a tag': () => warm.search(bot, { ...ask, vector: randomVector(), tags }),
      'search of a rare word': () => warm.search(bot, { ...ask, vector: randomVector(), terms: queryTerms(rareWord) }),
      'exact float scan': () => scan(vectors, randomVector()),
    };
    const rounds: Record<string, Round[]> = {};
    for (let round = -1; round < options.rounds; round++) {
      const names = Object.keys(works);
      for (const name of round % 2 === 0 ? names : names.reverse()) {
        session.checkpoint();
        const measured = await repeated(postgresPid, works[name]!);
        if (round >= 0) (rounds[name] ??= []).push(measured);
      }
    }
    const label = `${size.toLocaleString('en-US')} passages`;
    const figuresOf = (all: Round[]) => ({
      'p50 ms': median(all.map(({ wallMs }) => wallMs)),
      'processor ms': median(all.map(({ cpuMs }) => cpuMs)),
    });
    rows.push({ name: `${label}: first search after an import`, figures: figuresOf([unstored]) });
    rows.push({ name: `${label}: first search after a start`, figures: figuresOf(first) });
    for (const [name, all] of Object.entries(rounds)) rows.push({ name: `${label}: ${name}`, figures: figuresOf(all) });
    const ratio = (of: (round: Round) => number, name: string): Aim => {
      const [ours, bare] = [rounds['search']!.map(of), rounds['exact float scan']!.map(of)];
      const { median: value, lowest, highest } = pairedRatio(ours, bare);
      return { name: `${label}: search beside the float scan, ${name}`, value, spread: [lowest, highest], below: 0.5 };
    };
    aims.push(
      ratio(({ wallMs }) => wallMs, 'measured'),
      ratio(({ cpuMs }) => cpuMs, 'by processor time'),
    );
    medians.push(figuresOf(rounds['search']!)['processor ms']);
    await warm.close();
  }
  aims.push({ name: `processor time, growth from ${sizes.join(' to ')}`, value: medians[1]! / medians[0]!, below: 10 });
  return [
    {
      title: `Local index in this process, ${dimensions} dimensions, the nearest ${limit}; ${options.rounds} rounds of ${searchesPerRound}`,
      rows,
      aims,
      notes: ['Processor time includes Postgres. The search has ten words, of which eight are in most passages.'],
      errors: [],
      rounds: {},
    },
  ];
}

async function fill({ session }: Workbench, index: LocalIndex, bot: string, size: number): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let start = 0; start < size; start += pointsPerWrite) {
    session.checkpoint();
    const points = Array.from({ length: pointsPerWrite }, (_, i) => {
      const file = Math.floor((start + i) / pointsPerFile);
      const [vector, terms, tags] = [randomVector(), documentTerms(randomText()), { colour: colours[file % 4]! }];
      return { id: randomUUID(), fileId: `file_${file}`, contentVersion: 'v1', vector, terms, tags };
    });
    await index.write(bot, points);
    vectors.push(...points.map(({ vector }) => vector));
  }
  return vectors;
}

function scan(vectors: Float32Array[], wanted: Float32Array) {
  const best = new TopK<number>(limit);
  vectors.forEach((vector, i) => best.offer(i, dot(wanted, vector)));
  return best.ranked();
}

async function timed(postgresPid: number, work: () => unknown): Promise<[Round]> {
  const begun = performance.now();
  const [, cpu] = await measureCpu({ postgres: [postgresPid] }, async () => work());
  return [{ wallMs: performance.now() - begun, cpuMs: totalMs(cpu), cpu }];
}

async function repeated(postgresPid: number, work: () => unknown): Promise<Round> {
  const times: number[] = [];
  const [, cpu] = await measureCpu({ postgres: [postgresPid] }, async () => {
    for (let n = 0; n < searchesPerRound; n++) {
      const begun = performance.now();
      await work();
      times.push(performance.now() - begun);
    }
  });
  return { wallMs: median(times), cpuMs: totalMs(cpu) / searchesPerRound, cpu };
}

function totalMs({ us }: CpuUse): number {
  return Object.values(us).reduce((sum, used) => sum + used, 0) / 1_000;
}
