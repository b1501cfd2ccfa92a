import { parseArgs } from 'node:util';

export const parts = [
  'read',
  'write',
  'upload',
  'parsing',
  'indexing',
  'loop',
  'memory',
  'start',
  'bot',
  'hub',
  'tables',
  'growth',
  'import',
  'chat',
  'listen',
  'bots',
  'code',
  'models',
  'retrieval',
  'search',
  'recovery',
  'scale',
  'fairness',
  'queue',
  'console',
  'peers',
] as const;
export type Part = (typeof parts)[number];

export interface Options {
  only: Part[];
  seconds: number;
  rounds: number;
  connections: number;
  /** Adds a million rows, messages and files to `growth`. */
  large: boolean;
  /** Uses the held-out half of the questions of `retrieval`, which search was not tuned with. */
  heldOut: boolean;
  /** Fits the least score of the embedding model on `retrieval`, and keeps it where the model is bundled. */
  calibrate: boolean;
  /** Scenes of `fairness` to measure; by default all. */
  scene?: RegExp;
  /** Folder for CPU profiles of the product's processes; off by default. */
  profile?: string;
  /** Folder with installed peers: its `node_modules`. */
  peers?: string;
  out: string;
}

export const usage = `npm run bench -- [options]

  --only <parts>       some of: ${parts.join(', ')} (all by default; 'peers' only
                       with PEERS)
  --seconds <n>        length of one round (4)
  --rounds <n>         rounds of each side (5)
  --connections <n>    concurrent requests (16)
  --quick              two rounds of one second: checks that it runs, figures are not comparable
  --large              a million rows, messages and files in 'growth' too (a few more minutes)
  --held-out           the questions of 'retrieval' that search was not tuned with: for the last measurement
  --calibrate          the least score of the embedding model, fitted on 'retrieval' and checked on its held-out half
  --scene <pattern>    scenes of 'fairness' whose names match this regular expression (all by default)
  --profile <folder>   CPU profiles of the product's processes, which slows them down
  --out <file>         the figures as JSON (bench/results/<time>.json)

The part 'peers' compares with Parse Server and Directus. Install them into a folder of their own, and name it:
  npm install --prefix <folder> parse-server directus
  PEERS=<folder> npm run bench -- --only peers
`;

/** Throws an Error that names the invalid option. */
export function readOptions(args: string[], now = new Date(), peers = process.env['PEERS']): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      connections: { type: 'string' },
      quick: { type: 'boolean' },
      large: { type: 'boolean' },
      'held-out': { type: 'boolean' },
      calibrate: { type: 'boolean' },
      scene: { type: 'string' },
      profile: { type: 'string' },
      out: { type: 'string' },
    },
  });
  return {
    only: readParts(values.only, peers),
    seconds: readNumber('seconds', values.seconds, values.quick ? 1 : 4),
    rounds: readNumber('rounds', values.rounds, values.quick ? 2 : 5),
    connections: readNumber('connections', values.connections, 16),
    large: values.large ?? false,
    heldOut: values['held-out'] ?? false,
    calibrate: values.calibrate ?? false,
    scene: values.scene === undefined ? undefined : new RegExp(values.scene),
    profile: values.profile,
    peers,
    out: values.out ?? `bench/results/${now.toISOString().slice(0, 19).replaceAll(':', '')}.json`,
  };
}

function readParts(text: string | undefined, peers: string | undefined): Part[] {
  if (text === undefined) return parts.filter((part) => part !== 'peers' || peers);
  const requested = text.split(',').map((name) => name.trim());
  const unknown = requested.filter((name) => !parts.some((part) => part === name));
  if (unknown.length > 0)
    throw new Error(`--only: unknown part ${unknown.join(', ')}. Known parts: ${parts.join(', ')}.`);
  if (requested.includes('peers') && !peers)
    throw new Error('The part peers needs the environment variable PEERS: a folder with parse-server or directus.');
  return parts.filter((part) => requested.includes(part));
}

function readNumber(name: string, text: string | undefined, fallback: number): number {
  const value = Number(text ?? fallback);
  if (!(value > 0)) throw new Error(`--${name} must be a number greater than 0.`);
  return value;
}
