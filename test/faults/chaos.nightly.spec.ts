import { hasNatsServer } from '@parley/testing/nats-server';
import { runChaos } from './chaos/chaos';
import { type Harm, harms } from './chaos/harm';
import { Stage } from './chaos/stage';

/** Time for all faults on a slow machine, up to two minutes for each recovery, then for settling and the comparison. */
jest.setTimeout(30 * 60_000);
const suite = hasNatsServer() ? describe : describe.skip;

/** One fault of each kind, and for each kind of process. */
const fixed: Harm[] = [
  harms.kill('gateway', 0, 500),
  harms.cut('tables'),
  harms.pause('chat', 0, 3_000),
  harms.killNats(500),
  harms.kill('files-worker', 0, 0),
  harms.delay('chat', 300, 2_000),
  harms.restartPostgres(),
  harms.kill('tables', 1, 0),
  harms.loseStream(),
  harms.silence('files', 'answers', 1_500),
  harms.kill('chat', 1, 0),
  harms.restartNats(),
  harms.pause('files-worker', 1, 2_000),
  harms.kill('files', 1, 0),
  harms.killPostgres(),
  harms.kill('admin', 0, 0),
  harms.wipeNats(),
  harms.silence('tables', 'everything', 1_500),
];

suite('Every fault once', () => {
  let stage: Stage;

  beforeAll(async () => {
    // One process of those that no fault is for.
    stage = await Stage.open(undefined, { hub: 1, runtime: 1, runner: 1 });
  });

  afterAll(() => stage?.close());

  it('loses nothing, does nothing twice, keeps the order, and answers only clean errors under every fault', async () => {
    const tell = (line: string) => process.stderr.write(`${line}\n`);

    const report = await runChaos(stage, {
      seed: 1,
      harms: fixed,
      tell,
      signal: new AbortController().signal,
    });

    tell(JSON.stringify(report, null, 2));
    expect(report).toMatchObject({ unclean: [], violations: [] });
    expect(report.files).toEqual({ indexing_completed: expect.any(Number) as number, ...notUploaded(report.files) });
    expect(report.harms).toEqual(countOf(fixed));
    expect(Math.min(...Object.values(report.writes))).toBeGreaterThan(10);
  });
});

function countOf(some: Harm[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of some) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function notUploaded({ upload_pending }: Record<string, number>): Record<string, number> {
  return upload_pending === undefined ? {} : { upload_pending };
}
