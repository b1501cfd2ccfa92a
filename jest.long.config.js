const { availableParallelism } = require('node:os');
const configure = require('./jest.config.js');

/** The long suites, for `npm run test:long`. They wait half of their time, so that one more fits than of the others. */
module.exports = () =>
  configure().then((config) => ({
    ...config,
    testMatch: config.testMatch.map((pattern) => pattern.replace('*.spec.ts', '*.long.spec.ts')),
    maxWorkers: availableParallelism() + 2,
  }));
