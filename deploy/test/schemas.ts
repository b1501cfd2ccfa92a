import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import type { Manifest } from './helm';

type Model = new (manifest: Manifest) => { validate(): void };

const load = createRequire(__filename);

/** Errors of manifests against the schemas of Kubernetes and KEDA. The Prometheus operator publishes none here. */
export function refusalsOf(manifests: Manifest[]): string[] {
  const known = manifests.filter((manifest) => moduleOf(manifest));
  return [...known.flatMap(wrongValues), ...unknownFields(known)];
}

function moduleOf({ apiVersion, kind }: Manifest): string | undefined {
  if (apiVersion.startsWith('monitoring.coreos.com/')) return undefined;
  const models = apiVersion.startsWith('keda.sh/') ? '@kubernetes-models/keda' : 'kubernetes-models';
  return `${models}/${apiVersion}/${kind}`;
}

/** The packages export their modules to `import` only, but `require` loads them by their paths. */
function fileOf(name: string): string {
  const [, models = '', path = ''] = /^((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(name) ?? [];
  return join(dirname(load.resolve(`${models}/package.json`)), `${path}.js`);
}

function wrongValues(manifest: Manifest): string[] {
  const { [manifest.kind]: model } = load(fileOf(moduleOf(manifest)!)) as Record<string, Model>;
  try {
    new model!(manifest).validate();
    return [];
  } catch (error) {
    return [`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`];
  }
}

/** Unknown fields, such as misspelt ones: JSON schemas and a cluster accept them, the TypeScript types do not. */
function unknownFields(manifests: Manifest[]): string[] {
  const file = `${process.cwd()}/deploy/test/rendered-manifests.ts`;
  const source = manifests
    .map(
      (manifest, index) =>
        `export const m${index}: import('${moduleOf(manifest)}').I${manifest.kind} = ${JSON.stringify(manifest)};`,
    )
    .join('\n');
  const options = {
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    types: [],
    lib: ['lib.es2015.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, ...rest) =>
    path === file ? ts.createSourceFile(path, source, ts.ScriptTarget.ES2022) : getSourceFile(path, ...rest);
  const program = ts.createProgram([file], options, host);
  const diagnostics = program.getSemanticDiagnostics(program.getSourceFile(file));
  return diagnostics.map(({ start = 0, messageText }) => {
    const { kind, metadata } = manifests[source.slice(0, start).split('\n').length - 1]!;
    return `${kind} ${metadata.name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}
