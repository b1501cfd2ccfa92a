const { statSync } = require('node:fs');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Suites that start processes: none of them should be the last one, which a single worker runs alone. */
const startsProcesses = /[\\/](faults|standalone|cli|local-postgres)[\\/]|\.distributed\.spec\.ts$/;

/**
 * Jest's order of suites, for a run without its cache of former durations: suites that start processes come first. With
 * the cache Jest's own order stands: the slowest first.
 */
module.exports = class LongSuitesFirst extends Sequencer {
  sort(tests) {
    if (tests.some(({ duration }) => duration !== undefined)) return super.sort(tests);
    const weight = ({ path }) => (startsProcesses.test(path) ? 1e9 : 0) + statSync(path).size;
    return super.sort(tests).sort((a, b) => weight(b) - weight(a));
  }
};
