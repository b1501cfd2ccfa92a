/** Jest reporter: after a run of many suites, prints a table of the slowest, in seconds. */
module.exports = class SlowestSuites {
  onRunComplete(_contexts, { testResults }) {
    if (testResults.length < 20) return;
    const suites = testResults
      .map(({ testFilePath, perfStats }) => ({ testFilePath, seconds: (perfStats.end - perfStats.start) / 1000 }))
      .sort((a, b) => b.seconds - a.seconds);
    const total = suites.reduce((sum, { seconds }) => sum + seconds, 0);
    const lines = suites
      .slice(0, 20)
      .map(({ testFilePath, seconds }) => `${seconds.toFixed(0).padStart(6)}  ${relative(testFilePath)}`);
    process.stderr.write(
      `\nThe slowest of ${suites.length} suites, in seconds (${total.toFixed(0)} in all):\n${lines.join('\n')}\n`,
    );
  }
};

function relative(path) {
  return path.startsWith(process.cwd()) ? path.slice(process.cwd().length + 1) : path;
}
