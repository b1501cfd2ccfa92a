import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import { bodyBombs, codeBombs } from '../test/faults/bombs/attacks';
import { markdown } from './corpus';
import { indexFile } from './indexing';
import type { LoopBlock } from './loop-watch';
import { peaks, residentMb } from './memory';
import type { Result } from './result';
import { openBot, openEmbedded, type Workbench } from './workbench';

const largeFileBytes = 1_000_000;
/** Rounds of at least this length index the whole large file. */
const fullSeconds = 4;
const attackMs = 8_000;
const attacks = [
  'code: 100,000 line breaks',
  'code: line breaks past the captured streams',
  'code: short messages without an end',
  'code: a message of 29 MB',
  'code: 100 MB of logs',
  'load: an error of a million line breaks',
  'body: empty objects',
  'body: deep lists',
  'body: no JSON',
];

/** Longest block of the event loop while one large file is indexed with the default number of threads. */
export async function watchLoop(bench: Workbench): Promise<Result[]> {
  const sizeBytes = Math.round(largeFileBytes * Math.min(1, bench.options.seconds / fullSeconds));
  const file = join(bench.folder, 'loop.jsonl');
  const platform = await openEmbedded(bench, { LOOP_WATCH: file }, ['loop-watch']);
  const pid = platform.pids['standalone']!;
  const bot = await openBot(platform);
  await indexFile(bench.session, bot, 'warm-up.md', 'The first use of the model loads it.');
  await readBlocks(pid, file, 1);
  const start = performance.now();
  const [peakMb] = await peaks(
    () => [residentMb(pid)],
    () => indexFile(bench.session, bot, 'large.md', markdown(sizeBytes)),
  );
  const seconds = (performance.now() - start) / 1000;
  const { blockedMs, computedMs } = await readBlocks(pid, file, 2);
  const figures = { 'blocked ms': blockedMs, 'computing ms': computedMs, 'took s': seconds, 'highest RSS MB': peakMb! };
  return [
    {
      title: `Embedded mode: longest block of the event loop while ${sizeBytes.toLocaleString('en-US')} bytes of Markdown are indexed`,
      rows: [{ name: 'Parley, embedded', figures }],
      aims: [{ name: 'longest block', value: blockedMs, unit: ' ms', below: 50 }],
      notes: [
        'Computing: longest time that the thread was on a core meanwhile. A longer block also waited for something else.',
      ],
      errors: [],
      rounds: {},
    },
  ];
}

/** Longest block of the event loop during each of several attacks, and during the largest legal deployment. */
export async function watchLoopOfAttacks(bench: Workbench): Promise<Result[]> {
  const file = join(bench.folder, 'attacks.jsonl');
  const platform = await openEmbedded(bench, { LOOP_WATCH: file }, ['loop-watch']);
  const works: [string, () => Promise<unknown>][] = [
    ...codeBombs.map(({ name, code }): [string, () => Promise<unknown>] => [name, () => callCode(platform, code)]),
    ...bodyBombs.map(({ name, path, make }): [string, () => Promise<unknown>] => [
      name,
      () => send(platform, path, make()),
    ]),
  ].filter(([name]) => attacks.includes(name));
  works.push(['a deployment of 24 MB of code', () => clientOf(platform).createBot({ code: largeCode() })]);
  const measured: [string, LoopBlock][] = [];
  await callCode(platform, 'exports.handler = () => ({ status: 200 });');
  await readBlocks(platform.pids['standalone']!, file, 1);
  for (const [name, work] of works) {
    bench.session.checkpoint();
    await work();
    measured.push([name, await readBlocks(platform.pids['standalone']!, file, measured.length + 2)]);
  }
  await platform.stop();
  const longest = Math.max(...measured.map(([, { blockedMs }]) => blockedMs));
  return [
    {
      title: 'Embedded mode: longest block of the event loop during attacks',
      rows: measured.map(([name, { blockedMs, computedMs }]) => ({
        name,
        figures: { 'blocked ms': blockedMs, 'computing ms': computedMs },
      })),
      aims: [{ name: 'longest block', value: longest, unit: ' ms', below: 100 }],
      notes: ['Collections of the heap are part of both figures.'],
      errors: [],
      rounds: {},
    },
  ];
}

/** Deploys the code if it can be loaded, and waits for an event for it. */
async function callCode(platform: RunningPlatform, code: string): Promise<void> {
  const bot = await clientOf(platform)
    .createBot({ code })
    .then(
      (created) => created.bot,
      () => undefined,
    );
  if (!bot) return;
  const client = clientOf(platform, bot.id);
  const { event } = await client.createEvent({ type: 'bench:attack', payload: {} });
  const began = performance.now();
  const status = async () => (await client.getEvent({ id: event.id })).event.status;
  await waitFor(status, (found) => found !== 'pending' || performance.now() - began > attackMs);
  await clientOf(platform).deleteBot({ id: bot.id });
}

async function send({ url, token, workspaceId }: RunningPlatform, path: string, bytes: Buffer): Promise<void> {
  const authorization = `Bearer ${token}`;
  const headers = { authorization, 'x-workspace-id': workspaceId, 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: new Uint8Array(bytes) });
  await response.text();
}

function largeCode(): string {
  return `exports.handler = () => ({ status: 200 });\n${'// a comment of a bundle\n'.repeat(950_000)}`;
}

async function readBlocks(pid: number, file: string, line: number): Promise<LoopBlock> {
  process.kill(pid, 'SIGUSR2');
  const read = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const lines = await waitFor(read, (found) => found.length > line);
  return JSON.parse(lines[line - 1]!) as LoopBlock;
}
