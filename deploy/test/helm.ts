import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec?: any;
  data?: Record<string, string>;
}

const chart = 'deploy/helm/parley';
// A helm that Go's client has built does not know which Kubernetes it is of.
const kubernetes = ['--kube-version', '1.31.0'];

/** Whether the chart can be rendered. When it cannot, this says so loudly, or throws where CI must not skip it. */
export function hasHelm(): boolean {
  if (program()) return true;
  const message =
    'SKIPPED: there is no helm on the PATH (go install helm.sh/helm/v3/cmd/helm@v3.19.0), so the chart is not tested.';
  if (process.env['PARLEY_REQUIRE_HELM'] === '1') throw new Error(message);
  process.stderr.write(`\n${message}\n`);
  return false;
}

/** What `helm template` makes of the chart with these files of its folder, and these values. Throws what helm says. */
export function render(values: object, ...files: string[]): Manifest[] {
  return renderAs('parley', values, ...files);
}

/** The same for a release of this name. */
export function renderAs(release: string, values: object, ...files: string[]): Manifest[] {
  const text = run(['template', release, chart, ...kubernetes], values, files);
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

export function lint(values: object, ...files: string[]): string {
  return run(['lint', chart, '--strict', ...kubernetes], values, files);
}

/** What whoever installs a release reads. `helm template` leaves it out, so a copy of the chart has it as a manifest. */
export function notes(values: object, ...files: string[]): string {
  return inFolder((folder) => {
    const copy = join(folder, 'parley');
    cpSync(chart, copy, { recursive: true, dereference: true });
    const text = readFileSync(join(copy, 'templates/NOTES.txt'), 'utf8');
    const manifest = `{{ define "notes" }}${text}{{ end }}\nnotes: {{ include "notes" . | toJson }}\n`;
    writeFileSync(join(copy, 'templates/notes.yaml'), manifest);
    return parse(run(['template', 'parley', copy, '--show-only', 'templates/notes.yaml', ...kubernetes], values, files))
      .notes;
  });
}

function run(args: string[], values: object, files: string[]): string {
  return inFolder((folder) => {
    const own = join(folder, 'values.yaml');
    writeFileSync(own, stringify(values));
    const given = [...files.map((file) => join(chart, file)), own].flatMap((file) => ['--values', file]);
    const { status, stdout, stderr } = spawnSync(program()!, [...args, ...given], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${stdout}${stderr}`);
    return stdout;
  });
}

function inFolder<Result>(work: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'parley-helm-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

let found: string | undefined;

function program(): string | undefined {
  return (found ??= ['helm', join(goPath(), 'bin/helm')].find(
    (candidate) => spawnSync(candidate, ['version']).status === 0,
  ));
}

function goPath(): string {
  const { stdout } = spawnSync('go', ['env', 'GOPATH'], { encoding: 'utf8' });
  const path = stdout?.trim();
  return path && existsSync(path) ? path : '/nowhere';
}
