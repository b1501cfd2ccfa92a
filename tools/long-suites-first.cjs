const { statSync } = require('node:fs');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Suites that start processes: none of them should come last, when one worker runs it alone. */
const startsProcesses = /[\\/](test|standalone|cli|local-postgres)[\\/]|\.distributed\.spec\.ts$/;

/** Jest sequencer: suites that start processes run first; with cached durations, the slowest first. */
module.exports = class LongSuitesFirst extends Sequencer {
  sort(tests) {
    if (tests.some(({ duration }) => duration !== undefined)) return super.sort(tests);
    const weight = ({ path }) => (startsProcesses.test(path) ? 1e9 : 0) + statSync(path).size;
    return super.sort(tests).sort((a, b) => weight(b) - weight(a));
  }
};
