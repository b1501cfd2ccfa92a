// Licence check of all shipped packages, part of `npm run check`: lists packages with other licences.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Permissive licences that require only attribution, as SPDX ids. */
const allowed = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'Zlib'],
  ...['BlueOak-1.0.0', 'CC0-1.0', 'Unlicense'],
]);

/** Licences read from the licence files of packages without an SPDX id. Read them again for another version. */
const read = { 'duck@0.1.12': 'BSD-2-Clause' };

/** True when an SPDX expression permits an allowed choice: one part of `OR`, all parts of `AND`. */
function isAllowed(expression) {
  const text = expression.trim().replace(/^\((.*)\)$/, '$1');
  if (text.includes('(')) return false;
  return text.split(' OR ').some((choice) => choice.split(' AND ').every((id) => allowed.has(id.trim())));
}

/** Problems of the shipped packages in a lock file. `declared` looks up a licence that the lock file lacks. */
function complaints(packages, declared = () => undefined) {
  return Object.entries(packages)
    .filter(([path, { dev, link }]) => path !== '' && !dev && !link)
    .flatMap(([path, entry]) => {
      const name = `${path.split('node_modules/').at(-1)}@${entry.version}`;
      const licence = read[name] ?? entry.license ?? declared(path);
      if (typeof licence === 'string' && isAllowed(licence)) return [];
      return `${name}: ${licence ? `its licence is ${String(licence)}` : 'it declares no licence'}.`;
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
    'Replace the package. If its licence requires only attribution, add the SPDX id to `allowed`, or the licence of its' +
      ' licence file to `read`, in tools/licences.mjs.',
  );
}
process.exitCode = problems.length > 0 ? 1 : 0;
