import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitFor } from '@parley/testing/wait-for';
import { findInProc, findWithPs, isRunning } from './processes';

const sources = process.platform === 'linux' ? [findInProc, findWithPs] : [findWithPs];

describe.each(sources)('%p', (find) => {
  it('finds a running process with its command', async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');

    try {
      const [found, again] = [await find(child.pid!), await find(child.pid!)];

      expect(found).toMatchObject({ pid: child.pid, command: 'sleep 60' });
      expect(again?.startedAt).toBe(found?.startedAt);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('finds no process after it has ended', async () => {
    const child = spawn('true');
    await once(child, 'exit');

    expect(await find(child.pid!)).toBeNull();
  });

  it('treats a zombie as an ended process', async () => {
    // The shell turns into a program that never collects the exit status of its child.
    const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60']);

    try {
      const [pid] = (await once(parent.stdout, 'data')) as [Buffer];

      await waitFor(
        () => find(Number(pid)),
        (found) => found === null,
      );
    } finally {
      parent.kill('SIGKILL');
    }
  });
});

it('distinguishes a process from an earlier one with the same id', async () => {
  await expect(isRunning({ pid: process.pid, startedAt: 'long ago' })).resolves.toBe(false);
});
