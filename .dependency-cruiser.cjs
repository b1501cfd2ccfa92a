/** Import rules: the section "Boundaries" of CONTRIBUTING.md. */

const spec = '[.]spec[.]ts$';
const behaviour = '[.]behaviour[.]ts$';
/** `<app>.module.ts`, and not those of its families beside it. */
const appModule = '^apps/([^/]+)/src/\\1[.]module[.]ts$';
const appConfig = '^apps/[^/]+/src/config[.]ts$';
/** Schema `files`: the files service and its worker are two processes of one service. */
const storeOfFiles = '^apps/files/src/store/';

/** Matches a package in node_modules, and its types in `@types`. */
const npm = (...names) => `node_modules/(@types/)?(${names.join('|')})/`;

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    forbid(
      'apps-know-no-other-app',
      'Apps call each other over the bus. Code of two apps belongs in a library; the store of files has a rule of its own.',
      { path: '^apps/([^/]+)/', pathNot: ['^apps/(standalone|cli)/', spec, '^apps/[^/]+/src/test/'] },
      { path: '^apps/', pathNot: ['^apps/$1/', storeOfFiles] },
    ),
    forbid(
      'other-apps-only-by-module',
      'Commands and tests may import only the module and the config of another app.',
      { path: '^apps/([^/]+)/', pathNot: '^apps/standalone/' },
      { path: '^apps/', pathNot: ['^apps/$1/', appModule, appConfig, storeOfFiles] },
    ),
    forbid(
      'standalone-boots-apps-by-module',
      'The standalone app may import only the module and the config of another app.',
      { path: '^apps/standalone/' },
      { path: '^apps/', pathNot: ['^apps/standalone/', appModule, appConfig] },
    ),
    forbid(
      'suites-start-apps-by-module',
      'Suites of the whole product may import only the module and the config of an app.',
      { path: '^test/' },
      { path: '^apps/', pathNot: [appModule, appConfig] },
    ),
    forbid(
      'people-know-no-bots',
      'The admin service has two families of resources: people and bots. The second one is built on this one.',
      { path: '^apps/admin/src/people/', pathNot: spec },
      { path: '^apps/admin/src/bots/' },
    ),
    forbid(
      'bots-know-few-people',
      'The admin service has two families of resources: people and bots. This one needs only access (audit, roles, tokens) and usage.',
      { path: '^apps/admin/src/bots/', pathNot: spec },
      { path: '^apps/admin/src/people/', pathNot: '^apps/admin/src/people/(access|usage)/' },
    ),
    forbid('libs-know-no-app', 'A library does not import apps.', { path: '^libs/' }, { path: '^apps/' }),
    forbid(
      'contracts-know-only-their-validators',
      'Every app and library imports the contracts, so these import only their validators.',
      { path: '^libs/contracts/', pathNot: [spec, '^libs/contracts/src/test/'] },
      {
        pathNot: [
          '^libs/contracts/',
          npm('class-validator', 'class-transformer', 'class-validator-jsonschema', 'reflect-metadata'),
        ],
      },
    ),
    forbid(
      'only-the-transport-knows-nats',
      'Calls and events go through @parley/transport. The baselines of the benchmark use NATS directly to measure the overhead.',
      { pathNot: ['^libs/transport/', '^bench/(bare-|bots[.]|row-counter[.])', '^deploy/test/'] },
      { path: npm('nats', '@nats-io') },
    ),
    forbid(
      'only-repositories-know-typeorm',
      'SQL belongs in repositories, entities, migrations, libs/persistence, libs/work-queue and libs/events.',
      { pathNot: ['[.](repository|entity)[.]ts$', '/migrations/', '^libs/(persistence|work-queue|events|testing)/'] },
      { path: npm('typeorm') },
    ),
    forbid(
      'only-repositories-know-postgres',
      'SQL belongs in repositories, entities, migrations and the database libraries. The baselines of the benchmark use pg directly.',
      {
        pathNot: [
          '[.](repository|entity)[.]ts$',
          '/migrations/',
          '^libs/(persistence|events|testing|local-postgres)/',
          '^test/faults/',
          '^bench/(bare-|bots[.]|deployment[.]|row-counter[.])',
        ],
      },
      { path: npm('pg', 'pg-[^/]+') },
    ),
    forbid(
      'only-one-adapter-knows-qdrant',
      'The passage index is a port; its Qdrant adapter is libs/passages/src/qdrant-index.ts, with the requests and points beside it.',
      { pathNot: '^libs/passages/src/qdrant-(index|points|requests)[.]ts$' },
      { path: npm('@qdrant') },
    ),
    forbid(
      'only-the-encoder-knows-onnx',
      'The bundled model is run by libs/passages/src/sentence-encoder.ts. The baseline of the benchmark runs it directly.',
      { pathNot: ['^libs/passages/src/sentence-encoder[.]ts$', '^bench/bare-model[.]ts$'] },
      { path: npm('onnxruntime-') },
    ),
    forbid(
      'only-one-adapter-knows-s3',
      'The blob store is a port; its S3 adapter is libs/blobs/src/s3-blobs.ts.',
      { pathNot: '^libs/blobs/src/s3-blobs[.]ts$' },
      { path: npm('@aws-sdk') },
    ),
    forbid(
      'only-egress-knows-undici',
      'URLs that customers choose are called by @parley/egress, which checks their addresses.',
      { pathNot: '^libs/egress/' },
      { path: npm('undici') },
    ),
    forbid(
      'only-tracing-knows-opentelemetry',
      'Spans are created by @parley/tracing, which creates none while tracing is off.',
      { pathNot: '^libs/tracing/' },
      { path: npm('@opentelemetry') },
    ),
    forbid(
      'controllers-know-no-repository',
      'A controller calls its service, not a repository.',
      { path: '[.]controller[.]ts$' },
      { path: '[.]repository[.]ts$' },
    ),
    forbid(
      'only-files-and-its-worker-know-the-store-of-files',
      'The schema `files` belongs to the files service and its worker.',
      { pathNot: '^apps/(files|files-worker)/' },
      { path: storeOfFiles },
    ),
    forbid(
      'the-store-of-files-knows-no-resource',
      'The worker imports the store, and nothing else of the files service.',
      { path: storeOfFiles },
      { path: '^apps/files/', pathNot: storeOfFiles },
    ),
    forbid(
      'the-checker-knows-nothing-of-ours',
      'The fault checker is independent, so that it does not share the defects of the code that it checks.',
      { path: '^test/faults/checker/' },
      { path: '^(apps|libs)/' },
    ),
    forbid(
      'bench-serves-nobody',
      'Product code does not import the benchmark or the suites of the whole product.',
      { path: '^(apps|libs)/' },
      { path: '^(bench|test)/' },
    ),
    forbid('no-cycles', 'Import cycle: move the shared code into a separate file.', {}, { circular: true }),
    forbid('no-unknown-imports', 'The import cannot be resolved.', {}, { couldNotResolve: true }),
    forbid(
      'no-undeclared-packages',
      'Imported packages must be declared in package.json.',
      {},
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    ),
    forbid(
      'no-development-packages-in-production',
      'Images are built without development packages. The console is bundled at the build.',
      {
        path: '^(apps|libs)/',
        pathNot: [
          spec,
          behaviour,
          '^apps/(console|webchat)/',
          '/test/',
          '^libs/testing/',
          '^apps/cli/src/(demo|chat)[.]ts',
        ],
      },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Includes type-only imports: they couple files for a reader, too.
    parser: 'swc',
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['main', 'types'],
    },
  },
};
