import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { dirname } from 'node:path';
import { benchIndexing, watchLoop } from './indexing';
import { benchMemory, benchStart } from './start';
import { type Options, readOptions, usage } from './options';
import { benchDistributed, benchEmbedded } from './requests';
import type { Result } from './result';
import { Session } from './session';
import { printed } from './table';
import { benchUpload } from './upload';
import { openWorkbench, type Workbench } from './workbench';

const withoutNats = 'The distributed mode is left out: there is no nats-server on the PATH.';

async function main(options: Options): Promise<void> {
  const session = new Session();
  const results: Result[] = [];
  const skipped: string[] = [];
  const show = (more: Result[]) => {
    results.push(...more);
    more.forEach((result) => console.log(printed(result)));
  };
  const run = async (work: (bench: Workbench) => Promise<Result[]>) => {
    show(await work(await openWorkbench(session, options)));
    await session.stop();
  };
  try {
    const { only } = options;
    const hasNats = hasNatsServer();
    if (!hasNats) skipped.push(withoutNats);
    if (only.includes('read') || only.includes('write')) {
      await run(benchEmbedded);
      if (hasNats) await run(benchDistributed);
    }
    if (only.includes('upload')) await run(benchUpload);
    if (only.includes('indexing')) {
      for (const threads of new Set([1, availableParallelism()])) await run((bench) => benchIndexing(bench, threads));
      await run(watchLoop);
    }
    if (only.includes('start')) {
      await run(benchStart);
      await run((bench) => benchMemory(bench, 'embedded'));
      if (hasNats) await run((bench) => benchMemory(bench, 'distributed'));
    }
  } finally {
    await session.stop();
  }
  skipped.forEach((reason) => console.log(reason));
  await mkdir(dirname(options.out), { recursive: true });
  await writeFile(options.out, `${JSON.stringify({ ...circumstances(), options, skipped, results }, null, 2)}\n`);
  console.log(`All figures are in ${options.out}.`);
  const errors = results.flatMap((result) => result.errors);
  if (errors.length === 0) return;
  console.log(`\nERRORS: the figures above are worth nothing.\n${errors.join('\n')}`);
  process.exitCode = 1;
}

function hasNatsServer(): boolean {
  return spawnSync('nats-server', ['--version']).status === 0;
}

/** What the figures depend on besides the code. */
function circumstances() {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  return {
    at: new Date().toISOString(),
    commit: git('rev-parse', 'HEAD'),
    isChanged: git('status', '--porcelain') !== '',
    node: process.version,
    cores: availableParallelism(),
    processor: cpus()[0]?.model,
  };
}

let options: Options | undefined;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 1;
}
if (options) {
  main(options).catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
}
