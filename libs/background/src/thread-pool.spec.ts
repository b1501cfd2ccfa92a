import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const program = `module.exports = (what) => {
  if (what === 'fill the heap afterwards') setImmediate(() => { for (const all = []; ; ) all.push(new Array(1000).fill(0)); });
  return what;
};`;

const main = (folder: string) => `
const { openThreadPool } = require('./dist/libs/background/src/thread-pool.js');
// Idle threads do not keep a process alive.
const alive = setInterval(() => undefined, 1_000);
const limits = { maxThreads: 1, resourceLimits: { maxOldGenerationSizeMb: 16 } };
const pool = openThreadPool(${JSON.stringify(folder)}, 'program.worker', limits);
const warned = new Promise((resolve) => process.once('warning', resolve));
void pool
  .run('fill the heap afterwards')
  .then(() => warned)
  .then(() => pool.run('goes on'))
  .then(console.log)
  .then(() => pool.destroy())
  .then(() => clearInterval(alive));`;

it('survives a thread that runs out of memory while it has no task', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-threads-'));
  try {
    await writeFile(join(folder, 'program.worker.js'), program);

    const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', main(folder)], {
      // With atomics an idle thread blocks, and only an abort at exactly the wrong moment shows the failure.
      env: { PISCINA_DISABLE_ATOMICS: '1' },
      encoding: 'utf8',
    });

    expect({ status, stdout }).toEqual({ status: 0, stdout: 'goes on\n' });
    expect(stderr).toMatch(/A thread of program\.worker ended: .*memory limit/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
