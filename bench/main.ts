import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startLocalPostgres } from '@parley/local-postgres/local-postgres';
import { hasNatsServer } from '@parley/testing/nats-server';
import { type Options, readOptions, usage } from './options';
import { record } from './recording';
import { benchDistributed, benchEmbedded } from './requests';
import type { Result } from './result';
import { Session } from './session';
import { printed } from './table';

const withoutNats = 'The distributed mode is left out: there is no nats-server on the PATH.';

async function main(options: Options): Promise<void> {
  const session = new Session();
  const results: Result[] = [];
  const skipped: string[] = [];
  const show = (more: Result[]) => {
    results.push(...more);
    more.forEach((result) => console.log(printed(result)));
  };
  try {
    if (options.only.includes('read') || options.only.includes('write')) {
      await withRequests(session, options, async (bench) => show(await benchEmbedded(bench)));
      if (hasNatsServer()) await withRequests(session, options, async (bench) => show(await benchDistributed(bench)));
      else skipped.push(withoutNats);
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

/** A Postgres of this run, with the settings of the embedded mode's: commits wait for the disk. */
async function withRequests(
  session: Session,
  options: Options,
  work: (bench: Parameters<typeof benchEmbedded>[0]) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  session.keep({ stop: () => rm(folder, { recursive: true, force: true }) });
  await chmod(folder, 0o711);
  const postgres = session.keep(await startLocalPostgres({ folder }));
  // Where @parley/testing makes its databases.
  process.env['TEST_DATABASE_URL'] = postgres.url;
  process.env['TEST_RUN_ID'] = randomBytes(4).toString('hex');
  const recordings = await record(session);
  await work({ session, options, folder, postgresPid: postgres.pid!, recordings });
  await session.stop();
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
