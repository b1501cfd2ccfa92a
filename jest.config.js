const { readFileSync } = require('node:fs');
const { availableParallelism } = require('node:os');
const { join } = require('node:path');
const { onRuntime } = require('./tools/runtime.cjs');

const swc = JSON.parse(readFileSync(join(__dirname, '.swcrc'), 'utf8'));
// For the paths of tsconfig.base.json, for which moduleNameMapper stands here.
delete swc.jsc.baseUrl;

const config = {
  rootDir: __dirname,
  testMatch: ['apps', 'libs', 'test', 'bench', 'deploy'].map((folder) => `<rootDir>/${folder}/**/*.spec.ts`),
  transform: { '^.+\\.[jt]s$': ['@swc/jest', { ...swc, swcrc: false }] },
  // An ES module of which each test file has its own copy (tools/jest-runtime.cjs).
  transformIgnorePatterns: ['/node_modules/(?!@nestjs/typeorm/)'],
  moduleNameMapper: { '^@parley/([^/]+)/(.*)$': '<rootDir>/libs/$1/src/$2' },
  // `npm run nightly` runs these too: they are slow, and promise no safety.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env.PARLEY_NIGHTLY === '1' ? [] : ['\\.nightly\\.spec\\.ts$']),
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  globalSetup: '<rootDir>/libs/testing/src/global-setup.ts',
  globalTeardown: '<rootDir>/libs/testing/src/global-teardown.ts',
  testEnvironment: '<rootDir>/tools/jest-environment.cjs',
  runtime: '<rootDir>/tools/jest-runtime.cjs',
  reporters: ['default', '<rootDir>/tools/slowest-suites.cjs'],
  testSequencer: '<rootDir>/tools/mixed-suites.cjs',
  // One more than there are cores: with two more, suites get in each other's way.
  maxWorkers: availableParallelism() + 1,
  // A new worker loads all packages again.
  workerIdleMemoryLimit: '1GB',
  // On a busy machine, the end of a process alone takes longer than the 500 ms after which jest reports an open handle.
  workerGracefulExitTimeout: 10_000,
  // Tests run in the context of Node's own code, which needs the real one.
  fakeTimers: { doNotFake: ['nextTick'] },
  // Ends tests that wait for an event that never comes. Speed is measured by `bench/`.
  testTimeout: 120_000,
};

module.exports = () => onRuntime().then(() => config);
