// Whether everything that is shipped with Parley may be: `npm run check` runs it, and it names what is in doubt.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Licences that ask for no more than to be named, by their SPDX ids. */
const allowed = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'Zlib'],
  ...['BlueOak-1.0.0', 'CC0-1.0', 'Unlicense'],
]);

/** Packages whose field `license` is no SPDX id, and what their licence files say. Another version is to be read anew. */
const read = { 'duck@0.1.12': 'BSD-2-Clause' };

/** Whether an SPDX expression leaves a choice that is allowed: of `OR` one part, of `AND` every part. */
function isAllowed(expression) {
  const text = expression.trim().replace(/^\((.*)\)$/, '$1');
  if (text.includes('(')) return false;
  return text.split(' OR ').some((choice) => choice.split(' AND ').every((id) => allowed.has(id.trim())));
}

/**
 * Complaints about the packages of a lock file that are shipped.
 * @param declared what the package.json of an installed package says, where the lock file says nothing
 */
function complaints(packages, declared = () => undefined) {
  return Object.entries(packages)
    .filter(([path, { dev, link }]) => path !== '' && !dev && !link)
    .flatMap(([path, entry]) => {
      const name = `${path.split('node_modules/').at(-1)}@${entry.version}`;
      const licence = read[name] ?? entry.license ?? declared(path);
      if (typeof licence === 'string' && isAllowed(licence)) return [];
      return `${name}: ${licence ? `its licence is ${String(licence)}` : 'it tells no licence'}.`;
    });
}

function declaredIn(path) {
  const file = join(root, path, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).license : undefined;
}

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const problems = complaints(packages, declaredIn);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  console.error(
    'Take another package; or, where the licence asks for no more than to be named, add its SPDX id to `allowed`, or what' +
      ' the licence file says to `read`, in tools/licences.mjs.',
  );
}
process.exitCode = problems.length > 0 ? 1 : 0;
