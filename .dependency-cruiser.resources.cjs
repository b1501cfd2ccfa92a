/**
 * Order of the resources of an app: a resource does not import one that imports it. Compares folders, without specs and
 * without the files of the app itself, which know all resources.
 */
module.exports = {
  forbidden: [
    {
      name: 'no-imports-back-up',
      comment: 'The folders import each other: move the shared code into the lower one, or into a folder below both.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    exclude: { path: ['[.](spec|behaviour)[.]ts$', '/test/', '^apps/[^/]+/src/[^/]+[.]ts$'] },
    includeOnly: '^apps/',
    parser: 'swc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    metrics: true,
  },
};
