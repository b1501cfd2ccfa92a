import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join, relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';

// Loaded into a process by `--require`: writes a CPU profile of its main thread into the folder CPU_PROFILES when it ends.
// Node's own --cpu-prof is not allowed in NODE_OPTIONS, by which alone all processes of a platform are reached.

const samplingIntervalUs = 500;

if (isMainThread && process.env['CPU_PROFILES']) profile(process.env['CPU_PROFILES']);

function profile(folder: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: samplingIntervalUs });
  session.post('Profiler.start');
  process.once('exit', () => {
    session.post('Profiler.stop', (error, { profile }) => {
      if (!error) writeFileSync(join(folder, `${programName()}-${process.pid}.cpuprofile`), JSON.stringify(profile));
    });
  });
}

/** `apps/files/src/main.js` becomes `apps-files`. */
function programName(): string {
  const program = relative(join(__dirname, '..'), process.argv[1] ?? '');
  return program.replace(/(\/src\/main)?\.m?js$/, '').replaceAll(/[^\w-]+/g, '-');
}
