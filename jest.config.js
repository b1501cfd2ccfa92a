const { readFileSync } = require('node:fs');
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

const swc = JSON.parse(readFileSync(join(__dirname, '.swcrc'), 'utf8'));
// Path aliases are resolved by moduleNameMapper here, so that jest can report the real file.
delete swc.jsc.paths;
delete swc.jsc.baseUrl;

/** Packages that ship or import ES modules: jest cannot load those, so they are compiled like our own code. */
const esmOnly = [
  '@bomb\\.sh/tab',
  '@borewit/[^/]+',
  '@opentelemetry/otlp-exporter-base',
  '@tokenizer/[^/]+',
  'ccount',
  'character-entities',
  'decode-named-character-reference',
  'devlop',
  'escape-string-regexp',
  'file-type',
  'jose',
  'longest-streak',
  'markdown-table',
  'mdast-util-[^/]+',
  'micromark',
  'micromark-[^/]+',
  'pdfjs-dist',
  'strtok3',
  'token-types',
  'uint8array-extras',
  'unist-util-[^/]+',
  'zwitch',
].join('|');

module.exports = {
  rootDir: __dirname,
  testMatch: ['apps', 'libs', 'test', 'bench', 'deploy'].map((folder) => `<rootDir>/${folder}/**/*.spec.ts`),
  transform: { '^.+\\.(?:[jt]s|mjs)$': ['@swc/jest', { ...swc, swcrc: false }] },
  transformIgnorePatterns: [`/node_modules/(?!(${esmOnly})/)`],
  moduleNameMapper: { '^@parley/([^/]+)/(.*)$': '<rootDir>/libs/$1/src/$2' },
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  globalSetup: '<rootDir>/libs/testing/src/global-setup.ts',
  globalTeardown: '<rootDir>/libs/testing/src/global-teardown.ts',
  setupFiles: ['reflect-metadata'],
  reporters: ['default', '<rootDir>/tools/slowest-suites.cjs'],
  testSequencer: '<rootDir>/tools/long-suites-first.cjs',
  // One more than there are cores: suites that start processes wait for half of their time.
  maxWorkers: availableParallelism() + 1,
  // The modules of a suite stay in the memory of its worker: in an old one, collecting garbage costs more than the tests.
  workerIdleMemoryLimit: '400MB',
  // Ends tests that wait for an event that never comes. Speed is measured by `bench/`.
  testTimeout: 120_000,
};
