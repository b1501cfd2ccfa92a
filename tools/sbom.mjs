// Prints the bill of materials of Parley as CycloneDX: `npm run --silent sbom > parley.cdx.json`.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Its files are in libs/passages/model, not in a package. */
const embeddingModel = {
  'bom-ref': 'universal-sentence-encoder-multilingual@3',
  type: 'machine-learning-model',
  name: 'universal-sentence-encoder-multilingual',
  version: '3',
  licenses: [{ license: { id: 'Apache-2.0' } }],
};

/** Direct dependencies that a bill of materials lacks in their version. */
function missing(bill, dependencies) {
  const named = new Set((bill.components ?? []).map(nameOf));
  return Object.entries(dependencies)
    .map(([name, version]) => `${name}@${version}`)
    .filter((entry) => !named.has(entry));
}

function nameOf({ group, name, version }) {
  return `${group ? `${group}/` : ''}${name}@${version}`;
}

/** Removes packages used only for development. `npm sbom --omit dev` would also remove packages that serve both. */
function shipped(bill, packages) {
  const names = Object.entries(packages)
    .filter(([, { dev }]) => !dev)
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
  const wanted = new Set(names);
  const components = bill.components.filter((component) => wanted.has(nameOf(component)));
  components.push(embeddingModel);
  const refs = new Set([bill.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  return { ...bill, components, dependencies };
}

const read = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
const { status, stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64_000_000 });
if (status !== 0) {
  process.stderr.write(stderr);
  process.exit(1);
}
const bill = shipped(JSON.parse(stdout), read('package-lock.json').packages);
const lacking = missing(bill, read('package.json').dependencies);
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
if (lacking.length > 0) console.error(`The bill of materials lacks ${lacking.join(', ')}.`);
process.exitCode = lacking.length > 0 ? 1 : 0;
