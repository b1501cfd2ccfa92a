import { parseArgs } from 'node:util';
import { optionsOrExit } from '../command-line';
import { startTarget, type TargetMode, targetModes } from './bomb-target';
import { type Bomb, bombs } from './corpus';
import { type Outcome, readBombs } from './read-bombs';

const usage = `npm run bombs -- [options]

Uploads documents that exhaust their parser, and checks that the process survives each of them.
Needs root and a writable memory control group.

  --memory <MiB>   memory limit of the reading process and its children (1024)
  --mode <mode>    worker: the files worker of the distributed mode (default); embedded: the whole platform
  --only <text>    documents whose name contains this text
  --quick          the selection that each test run reads
`;

interface Options {
  memoryMb: number;
  mode: TargetMode;
  chosen: Bomb[];
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      memory: { type: 'string', default: '1024' },
      mode: { type: 'string', default: 'worker' },
      only: { type: 'string', default: '' },
      quick: { type: 'boolean', default: false },
    },
  });
  const memoryMb = Number(values.memory);
  const mode = targetModes.find((known) => known === values.mode);
  const chosen = bombs.filter(({ name, isQuick }) => name.includes(values.only) && (isQuick || !values.quick));
  if (!(memoryMb >= 256)) throw new Error('--memory must be a number of MiB, at least 256.');
  if (!mode) throw new Error(`--mode must be ${targetModes.join(' or ')}.`);
  if (chosen.length === 0) throw new Error(`--only: no document name contains "${values.only}".`);
  return { memoryMb, mode, chosen };
}

async function main({ memoryMb, mode, chosen }: Options): Promise<boolean> {
  console.log(`${chosen.length} documents, ${mode} with ${memoryMb} MiB`);
  const target = await startTarget(mode, memoryMb);
  try {
    const findings = await readBombs(target, chosen, (outcome) => console.log(lineOf(outcome)));
    const peakMb = Math.round((await target.cgroup.peakBytes()) / 2 ** 20);
    console.log(`\npeak ${peakMb} MiB, file cache included`);
    for (const finding of findings) console.log(`WRONG: ${finding}`);
    if (findings.length === 0) console.log('No findings.');
    return findings.length === 0;
  } finally {
    await target.stop();
  }
}

function lineOf({ bomb, sizeBytes, status, reason, seconds }: Outcome): string {
  const size = sizeBytes > 1e6 ? `${(sizeBytes / 1e6).toFixed(1)} MB` : `${(sizeBytes / 1e3).toFixed(1)} kB`;
  const columns = [bomb.name.padEnd(58), size.padStart(9), `${seconds.toFixed(1)} s`.padStart(8), status.slice(9)];
  return [...columns, reason?.slice(0, 100) ?? ''].join('  ').trimEnd();
}

main(optionsOrExit(usage, readOptions)).then(
  (isGood) => (process.exitCode = isGood ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
