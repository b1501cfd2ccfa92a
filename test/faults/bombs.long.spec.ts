import { bodyBombs, codeBombs } from './bombs/attacks';
import { cgroupMissing, startTarget } from './bombs/bomb-target';
import { bombs } from './bombs/corpus';
import { MemoryCgroup } from './bombs/memory-cgroup';
import { readBombs } from './bombs/read-bombs';
import { throwBombs } from './bombs/throw-bombs';

// Takes a minute: it reads documents that exhaust their parser, and runs code that harms its process. `npm run bombs` has more.

/** `npm run bombs` lets each attack go on for longer. */
const attackMs = 2_000;

let canLimitMemory = false;

beforeAll(async () => {
  const cgroup = await MemoryCgroup.create(2 ** 30);
  canLimitMemory = cgroup !== undefined;
  await cgroup?.remove();
  if (canLimitMemory) return;
  if (process.env['PARLEY_REQUIRE_BOMBS']) throw new Error(`This suite ${cgroupMissing}.`);
  process.stderr.write(`Skipped: the suite of hostile documents ${cgroupMissing}.\n`);
});

it('survives hostile documents, code and bodies in 1 GiB embedded, and answers others meanwhile', async () => {
  if (!canLimitMemory) return;
  const target = await startTarget('embedded', { memoryMb: 1024 });
  try {
    const attacks = [...codeBombs, ...bodyBombs].filter(({ isQuick }) => isQuick);
    const documents = bombs.filter(({ isQuick }) => isQuick);

    expect(await throwBombs(target, attacks, attackMs, () => undefined)).toEqual([]);
    expect(await readBombs(target, documents, () => undefined)).toEqual([]);
  } finally {
    await target.stop();
  }
}, 300_000);
