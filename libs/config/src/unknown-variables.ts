import { loadedVariables } from './config';
import { droppedVariables } from './dropped-variables';

/** Variables of any app, and of the CLI: a process has loaded the classes of its own app only, but may share its environment. */
export const variablesOfParley = [
  'PARLEY_BOOTSTRAP_EMAIL',
  'PARLEY_BOOTSTRAP_TOKEN',
  'PARLEY_DATA_DIR',
  'PARLEY_FORMER_SECRET_KEYS',
  'PARLEY_SECRET_KEY',
  'PARLEY_STRICT_DEPLOY',
  'PARLEY_TOKEN',
  'PARLEY_URL',
];
/** Read by `npm start`, by Compose, by the test suites or by other programs, or set by Kubernetes for each service of the namespace. */
const otherVariables =
  /^(FTP_PROXY|PARLEY_(PARENT_PID|ADDRESS|REQUIRE_\w+|\w*(SERVICE_HOST|SERVICE_PORT\w*|_PORT|_PORT_\d+_\w+))|NATS_KEY_FILES)$/;

/** No two variables of the configuration differ by so few letters, except for short ones. */
const maxTypos = 2;
const leastLength = 8;

/** Warnings about variables without effect: dropped ones with their replacement, misspelt ones with the nearest known one. */
export function warningsAboutUnknown(env: NodeJS.ProcessEnv): string[] {
  const known = new Set([...variablesOfParley, ...loadedVariables()]);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value || known.has(name) || otherVariables.test(name)) return [];
    const replacement = droppedVariables[name];
    if (replacement) return [`${name} no longer exists and has no effect. ${replacement}`];
    const { nearest, typos } = findNearest(name, known);
    const isMeant = name.startsWith('PARLEY_') || (typos <= maxTypos && nearest.length >= leastLength);
    return isMeant ? [`${name} is not a variable of Parley and has no effect. Did you mean ${nearest}?`] : [];
  });
}

function findNearest(name: string, known: Set<string>): { nearest: string; typos: number } {
  const distances = [...known].map((nearest) => ({ nearest, typos: distance(name, nearest) }));
  return distances.reduce((best, candidate) => (candidate.typos < best.typos ? candidate : best));
}

/** Levenshtein distance: letters to insert, delete or replace. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
