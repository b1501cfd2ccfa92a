const { writeSync } = require('node:fs');
const { cpuUsage, kill, pid } = require('node:process');
const { parentPort, Worker, workerData } = require('node:worker_threads');

const checkMs = 500;
/** Loops that wait instead of computing, such as for a child process, may stand ten times as long. */
const waitingShare = 10;

/**
 * Ends this process, with a message that names the suite, when its event loop stands while the process computes for so many
 * seconds: an endless loop would keep jest waiting for ever. Busy and suspended machines get the time that they need.
 *
 * @returns sets the suite and its limit
 */
exports.startWatchdog = function startWatchdog() {
  const turns = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(turns, 0, 1), checkMs).unref();
  const thread = new Worker(__filename, { workerData: turns, execArgv: [], stdin: false });
  thread.unref();
  return (suite, limitSeconds) => thread.postMessage({ suite, limitSeconds });
};

if (workerData instanceof Int32Array) watch(workerData);

function watch(turns) {
  let watched;
  let seen = -1;
  let checks = 0;
  let started = cpuUsage();
  parentPort.on('message', (message) => (watched = message));
  setInterval(() => {
    const turn = Atomics.load(turns, 0);
    if (turn !== seen) {
      seen = turn;
      checks = 0;
      started = cpuUsage();
      return;
    }
    checks += 1;
    const { user, system } = cpuUsage(started);
    const computedSeconds = (user + system) / 1e6;
    // Counted by checks, which pass neither while the machine is suspended nor faster than it runs.
    const waitedSeconds = (checks * checkMs) / 1000;
    if (computedSeconds < watched?.limitSeconds && waitedSeconds < watched.limitSeconds * waitingShare) return;
    if (watched) end(watched.suite, computedSeconds);
  }, checkMs);
}

function end(suite, seconds) {
  const problem = `The event loop of this test worker has stood still for ${seconds.toFixed(0)} s of processor time`;
  writeSync(2, `\n${suite}: ${problem}, so it was ended. Look for an endless loop in the suite or the tested code.\n`);
  kill(pid, 'SIGKILL');
}
