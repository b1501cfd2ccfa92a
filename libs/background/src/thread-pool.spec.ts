import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const program = `module.exports = (task) => {
  if (typeof task === 'string') return task;
  setInterval(() => { if (task[0] === 1) throw new Error('failed without a task'); });
};`;

const main = (folder: string) => `
const { openThreadPool } = require('./dist/libs/background/src/thread-pool.js');
// Idle threads do not keep a process alive.
const alive = setInterval(() => undefined, 1_000);
const pool = openThreadPool(${JSON.stringify(folder)}, 'program.worker', { maxThreads: 1 });
const warned = new Promise((resolve) => process.once('warning', resolve));
const failNow = new Uint8Array(new SharedArrayBuffer(1));
void pool
  .run(failNow)
  .then(() => (failNow[0] = 1))
  .then(() => warned)
  .then(() => pool.run('goes on'))
  .then(console.log)
  .then(() => pool.destroy())
  .then(() => clearInterval(alive));`;

it('survives a thread that fails while it has no task', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-threads-'));
  try {
    await writeFile(join(folder, 'program.worker.js'), program);

    const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', main(folder)], {
      // With atomics an idle thread blocks, and only an abort at exactly the wrong moment shows the failure.
      env: { PISCINA_DISABLE_ATOMICS: '1' },
      encoding: 'utf8',
    });

    expect({ status, stdout }).toEqual({ status: 0, stdout: 'goes on\n' });
    expect(stderr).toMatch(/A thread of program\.worker ended: .*failed without a task/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
