import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec?: any;
  data?: Record<string, string>;
}

export interface Release {
  manifests: Manifest[];
  notes: string;
}

const chart = 'deploy/helm/parley';
// Not the version that this helm was built for.
const kubernetes = ['--kube-version', '1.31.0'];
/** True when helm is installed. Otherwise prints a warning, or throws where CI must not skip the suite. */
export function hasHelm(): boolean {
  if (spawnSync('helm', ['version']).status === 0) return true;
  const message = 'SKIPPED: there is no helm on the PATH, so the chart is not tested.';
  if (process.env['PARLEY_REQUIRE_HELM'] === '1') throw new Error(message);
  process.stderr.write(`\n${message}\n`);
  return false;
}

/** Output of `helm template` for these value files, overridden by `values`. Throws helm's errors. */
export function render(files: string[], values: object = {}, name = 'parley'): Release {
  return inFolder((folder) => {
    const copy = join(folder, 'chart');
    cpSync(chart, copy, { recursive: true });
    // `helm template` omits the notes: a copy of the chart contains them as a manifest.
    const text = readFileSync(join(copy, 'templates/NOTES.txt'), 'utf8');
    const manifest = `{{ define "notes" }}${text}{{ end }}\nnotes: {{ include "notes" . | toJson }}\n`;
    writeFileSync(join(copy, 'templates/notes.yaml'), manifest);
    const own = join(folder, 'values.yaml');
    writeFileSync(own, stringify(values));

    const documents = parseAllDocuments(run('template', name, copy, ...valueOptions([...files, own])));
    const parts = documents.map((document) => document.toJS() as Manifest | { notes: string } | null);
    return {
      manifests: parts.filter((part): part is Manifest => part !== null && !('notes' in part)),
      notes: parts.find((part) => part !== null && 'notes' in part)!.notes,
    };
  });
}

export function lint(files: string[]): void {
  run('lint', chart, '--strict', ...valueOptions(files));
}

function valueOptions(files: string[]): string[] {
  return files.flatMap((file) => ['--values', file]);
}

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('helm', [...args, ...kubernetes], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
  return stdout;
}

function inFolder<Result>(work: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'parley-helm-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
