import { spawnSync } from 'node:child_process';
import { findProgram } from './find-program';

let known: string[] | undefined;

/**
 * Command that has the kernel kill the program which it executes when this process ends (`setpriv` of util-linux). Empty on a
 * system without it.
 */
export function endingWithParent(): string[] {
  return (known ??= workingCommand());
}

function workingCommand(): string[] {
  const program = findProgram('setpriv');
  if (!program) return [];
  const options = ['--pdeathsig', 'KILL'];
  // That of BusyBox has other options.
  return spawnSync(program, [...options, 'true']).status === 0 ? [program, ...options] : [];
}
