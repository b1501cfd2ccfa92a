/** Jest reporter: after a run of many suites, prints tables of the slowest suites and tests, in seconds. */
module.exports = class SlowestSuites {
  onRunComplete(_contexts, { testResults }) {
    if (testResults.length < 20) return;
    const suites = testResults.map(({ testFilePath, perfStats }) => ({
      name: relative(testFilePath),
      seconds: (perfStats.end - perfStats.start) / 1000,
    }));
    const tests = testResults.flatMap(({ testFilePath, testResults: results }) =>
      results.map(({ title, duration }) => ({
        name: `${relative(testFilePath)}: ${title}`,
        seconds: (duration ?? 0) / 1000,
      })),
    );
    const total = suites.reduce((sum, { seconds }) => sum + seconds, 0);
    process.stderr.write(
      [
        `\nThe slowest of ${suites.length} suites, in seconds (${total.toFixed(0)} in all):`,
        ...slowest(suites, 20),
        `\nThe slowest of ${tests.length} tests, in seconds:`,
        ...slowest(tests, 40),
        '',
      ].join('\n'),
    );
  }
};

function slowest(entries, count) {
  return entries
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, count)
    .map(({ name, seconds }) => `${seconds.toFixed(0).padStart(6)}  ${name}`);
}

function relative(path) {
  return path.startsWith(process.cwd()) ? path.slice(process.cwd().length + 1) : path;
}
