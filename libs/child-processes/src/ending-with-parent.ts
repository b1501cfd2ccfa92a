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
  const command = program ? [program, '--pdeathsig', 'KILL'] : [];
  const [file, ...args] = [...command, process.execPath, '--version'];
  return program && spawnSync(file, args).status === 0 ? command : [];
}
