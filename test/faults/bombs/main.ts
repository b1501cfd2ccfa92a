import { parseArgs } from 'node:util';
import { optionsOrExit } from '../command-line';
import { type BodyBomb, bodyBombs, type CodeBomb, codeBombs } from './attacks';
import { type BombTarget, startTarget, type TargetMode, targetModes } from './bomb-target';
import { bombs } from './corpus';
import { type Outcome, readBombs } from './read-bombs';
import { attackMs, type Thrown, throwBombs } from './throw-bombs';

const usage = `npm run bombs -- [options]

Deploys and calls hostile code and sends hostile bodies while another workspace works, then uploads documents that exhaust
their parser, and checks that the processes of the platform survive. Documents need root and a writable memory control group.

  --mode <mode>       distributed (default) or embedded
  --kind <kind>       attacks (code and bodies) or documents; both by default
  --isolation <mode>  isolation of code, as RUNNER_ISOLATION (auto)
  --memory <MiB>      memory limit of the files worker, or of the embedded platform, while it reads documents (1024)
  --only <text>       those whose name contains this text
  --quick             the selection of each test run
`;

const kinds = ['attacks', 'documents'];

interface Options {
  mode: TargetMode;
  isolation: string;
  memoryMb: number;
  attacks: (CodeBomb | BodyBomb)[];
  documents: typeof bombs;
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      memory: { type: 'string', default: '1024' },
      mode: { type: 'string', default: 'distributed' },
      kind: { type: 'string', default: '' },
      isolation: { type: 'string', default: 'auto' },
      only: { type: 'string', default: '' },
      quick: { type: 'boolean', default: false },
    },
  });
  const { kind, isolation, only, quick } = values;
  const memoryMb = Number(values.memory);
  const mode = targetModes.find((known) => known === values.mode);
  const isChosen = ({ name, isQuick }: { name: string; isQuick?: true }) => name.includes(only) && (isQuick || !quick);
  if (!(memoryMb >= 256)) throw new Error('--memory must be a number of MiB, at least 256.');
  if (!mode) throw new Error(`--mode must be ${targetModes.join(' or ')}.`);
  if (kind !== '' && !kinds.includes(kind)) throw new Error(`--kind must be ${kinds.join(' or ')}.`);
  const attacks = kind === 'documents' ? [] : [...codeBombs, ...bodyBombs].filter(isChosen);
  const documents = kind === 'attacks' ? [] : bombs.filter(isChosen);
  if (attacks.length + documents.length === 0) throw new Error(`--only: no name contains "${only}".`);
  return { mode, isolation, memoryMb, attacks, documents };
}

async function main({ mode, isolation, memoryMb, attacks, documents }: Options): Promise<boolean> {
  const user = process.getuid?.() === 0 ? 'root' : 'an ordinary user';
  console.log(`${mode}, as ${user}, isolation ${isolation}`);
  const findings: string[] = [];
  const during = async (options: { memoryMb?: number }, work: (target: BombTarget) => Promise<string[]>) => {
    const target = await startTarget(mode, { ...options, isolation });
    try {
      findings.push(...(await work(target)));
    } finally {
      await target.stop();
    }
  };
  if (attacks.length > 0)
    await during({}, (target) => throwBombs(target, attacks, attackMs, (thrown) => console.log(lineOfAttack(thrown))));
  if (documents.length > 0)
    await during({ memoryMb }, async (target) => {
      console.log(`${documents.length} documents in ${memoryMb} MiB`);
      const found = await readBombs(target, documents, (outcome) => console.log(lineOfDocument(outcome)));
      const peakMb = Math.round((await target.cgroup!.peakBytes()) / 2 ** 20);
      console.log(`\npeak ${peakMb} MiB, file cache included`);
      return found;
    });
  for (const finding of findings) console.log(`WRONG: ${finding}`);
  if (findings.length === 0) console.log('No findings.');
  return findings.length === 0;
}

function lineOfAttack({ name, outcome, seconds, slowestMs }: Thrown): string {
  const columns = [name.padEnd(66), `${seconds.toFixed(1)} s`.padStart(8), `others ${slowestMs} ms`.padStart(15)];
  return [...columns, outcome.slice(0, 100)].join('  ').trimEnd();
}

function lineOfDocument({ bomb, sizeBytes, status, reason, seconds }: Outcome): string {
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
