import { execFileSync } from 'node:child_process';

/** Process ids of the children of this process that run the program, such as `large-body.child`. */
export function childPids(program: string): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n');
  return lines.flatMap((line) => {
    const [pid, parent, ...args] = line.trim().split(/\s+/);
    return Number(parent) === process.pid && args.join(' ').includes(`${program}.js`) ? [Number(pid)] : [];
  });
}
