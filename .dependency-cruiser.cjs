/** "Boundaries" of CONTRIBUTING.md as failing rules. */

const spec = '[.]spec[.]ts$';
const behaviour = '[.]behaviour[.]ts$';
const appModule = '^apps/[^/]+/src/[^/]+[.]module[.]ts$';
const appConfig = '^apps/[^/]+/src/config[.]ts$';

/** The same path in node_modules, whether the code or only the types of the package are meant. */
const npm = (...names) => `node_modules/(@types/)?(${names.join('|')})/`;

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    forbid(
      'apps-know-no-other-app',
      'Apps talk over the bus. What two of them need is a library.',
      { path: '^apps/([^/]+)/', pathNot: ['^apps/(standalone|cli)/', spec, '^apps/[^/]+/src/test/'] },
      { path: '^apps/', pathNot: '^apps/$1/' },
    ),
    forbid(
      'other-apps-only-by-module',
      'Commands and tests may boot the module of another app and know nothing else of it.',
      { path: '^apps/([^/]+)/', pathNot: '^apps/standalone/' },
      { path: '^apps/', pathNot: ['^apps/$1/', appModule] },
    ),
    forbid(
      'standalone-boots-apps-by-module',
      'The one-process mode knows the module and the config of an app and nothing else of it.',
      { path: '^apps/standalone/' },
      { path: '^apps/', pathNot: ['^apps/standalone/', appModule, appConfig] },
    ),
    forbid('libs-know-no-app', 'A library serves apps and does not know them.', { path: '^libs/' }, { path: '^apps/' }),
    forbid(
      'contracts-know-only-their-validators',
      'Everybody reads the contracts, so they may not pull anything else in.',
      { path: '^libs/contracts/', pathNot: [spec, '^libs/contracts/src/test/'] },
      {
        pathNot: [
          '^libs/contracts/',
          npm('class-validator', 'class-transformer', 'class-validator-jsonschema', 'reflect-metadata'),
        ],
      },
    ),
    forbid(
      'only-the-bus-knows-nats',
      'Ask and announce through @parley/bus. The baselines of the benchmark do without it: that is their point.',
      { pathNot: ['^libs/bus/', '^bench/bare-', '^deploy/test/'] },
      { path: npm('nats', '@nats-io') },
    ),
    forbid(
      'only-repositories-know-typeorm',
      'SQL and tables belong to repositories, entities, migrations and the database libraries.',
      { pathNot: ['[.](repository|entity)[.]ts$', '/migrations/', '^libs/(database|outbox|testing)/'] },
      { path: npm('typeorm') },
    ),
    forbid(
      'only-repositories-know-postgres',
      'SQL and tables belong to repositories, entities, migrations and the database libraries. Baselines are bare.',
      {
        pathNot: [
          '[.](repository|entity)[.]ts$',
          '/migrations/',
          '^libs/(database|outbox|testing|local-postgres)/',
          '^faults/',
          '^bench/bare-',
        ],
      },
      { path: npm('pg', 'pg-[^/]+') },
    ),
    forbid(
      'only-one-adapter-knows-qdrant',
      'The passage index is a port; its Qdrant adapter is libs/passages/src/qdrant-index.ts.',
      { pathNot: '^libs/passages/src/qdrant-index[.]ts$' },
      { path: npm('@qdrant') },
    ),
    forbid(
      'only-one-adapter-knows-s3',
      'Content is kept behind a port; its S3 adapter is libs/blobs/src/s3-blobs.ts.',
      { pathNot: '^libs/blobs/src/s3-blobs[.]ts$' },
      { path: npm('@aws-sdk') },
    ),
    forbid(
      'only-tracing-knows-opentelemetry',
      'Spans are made by @parley/tracing, which makes none while nobody wants them.',
      { pathNot: '^libs/tracing/' },
      { path: npm('@opentelemetry') },
    ),
    forbid(
      'controllers-know-no-repository',
      'A controller answers by its service, which decides.',
      { path: '[.]controller[.]ts$' },
      { path: '[.]repository[.]ts$' },
    ),
    forbid(
      'only-files-know-the-file-store',
      'The schema `files` belongs to the files service and its worker.',
      { path: '^(apps|libs)/', pathNot: ['^apps/(files|files-worker)/', '^libs/file-store/'] },
      { path: '^libs/file-store/' },
    ),
    forbid(
      'the-checker-knows-nothing-of-ours',
      'What compares promises with facts must not share the mistakes of what it examines.',
      { path: '^faults/checker/' },
      { path: '^(apps|libs)/' },
    ),
    forbid(
      'bench-serves-nobody',
      'The benchmark measures what is there. Nothing of the product may need it.',
      { path: '^(apps|libs)/' },
      { path: '^(bench|faults)/' },
    ),
    forbid('no-cycles', 'Move what both need into a file of its own.', {}, { circular: true }),
    forbid('no-unknown-imports', 'The import leads nowhere.', {}, { couldNotResolve: true }),
    forbid(
      'no-undeclared-packages',
      'A package that is used is named in package.json.',
      {},
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    ),
    forbid(
      'no-development-packages-in-production',
      'Images are built without development packages.',
      { path: '^(apps|libs)/', pathNot: [spec, behaviour, '/test/', '^libs/testing/', '^apps/cli/src/demo'] },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Type-only imports count too: they tie files together just as much for a reader.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['main', 'types'],
    },
  },
};
