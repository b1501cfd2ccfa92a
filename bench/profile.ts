import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join, relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';

// Loaded by `--require`: writes a CPU profile of the main thread to the folder CPU_PROFILES on exit. Node does not
// allow --cpu-prof in NODE_OPTIONS, the only way to reach all processes of a platform.

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

function programName(): string {
  const program = relative(join(__dirname, '..'), process.argv[1] ?? '');
  return program.replace(/(\/src\/main)?\.m?js$/, '').replaceAll(/[^\w-]+/g, '-');
}
