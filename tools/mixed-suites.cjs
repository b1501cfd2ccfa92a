const { default: Sequencer } = require('@jest/test-sequencer');

/** Suites that start processes, or try again: they wait a lot, and none of them should come last and run alone. */
const waits = /[\\/](test|standalone|cli|runner|runtime|local-postgres)[\\/]|\.distributed\./;
/** The longest of them, whatever the size of their files. */
const isLong = /[\\/](faults|shutdown|distributed|embedded|bombs|integrations|hostile-code|code|backup|fuzz)\./;
/** Other suites after each of them, which use the processors while it waits. More are left over for the end. */
const others = 3;

/** Jest sequencer: both kinds of suites by turns, the largest files first of each; with cached durations, the slowest first. */
module.exports = class MixedSuites extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (tests.some(({ duration }) => duration !== undefined)) return sorted;
    const waiting = sorted.filter(({ path }) => waits.test(path));
    const computing = sorted.filter(({ path }) => !waits.test(path));
    waiting.sort((a, b) => isLong.test(b.path) - isLong.test(a.path));
    return [...waiting.flatMap((test) => [test, ...computing.splice(0, others)]), ...computing];
  }
};
