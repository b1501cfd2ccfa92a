import { bombs } from './bombs/corpus';
import { cgroupMissing, startTarget } from './bombs/bomb-target';
import { MemoryCgroup } from './bombs/memory-cgroup';
import { readBombs } from './bombs/read-bombs';

// Takes a minute: it reads documents that exhaust their parser. `npm run bombs` reads all of them.

let canLimitMemory = false;

beforeAll(async () => {
  const cgroup = await MemoryCgroup.create(2 ** 30);
  canLimitMemory = cgroup !== undefined;
  await cgroup?.remove();
  if (canLimitMemory) return;
  if (process.env['PARLEY_REQUIRE_BOMBS']) throw new Error(`This suite ${cgroupMissing}.`);
  process.stderr.write(`Skipped: the suite of hostile documents ${cgroupMissing}.\n`);
});

it('the embedded platform survives hostile documents in 1 GiB, and each gets a final status', async () => {
  if (!canLimitMemory) return;
  const target = await startTarget('embedded', 1024);
  try {
    const chosen = bombs.filter(({ isQuick }) => isQuick);

    expect(await readBombs(target, chosen, () => undefined)).toEqual([]);
  } finally {
    await target.stop();
  }
}, 300_000);
