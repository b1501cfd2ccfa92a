import type { Command } from 'commander';
import { backUp } from '../backup/backup';
import { restore } from '../backup/restore';
import { CommandFailed, type Output, printResult } from '../output';
import { dataFolder } from '../kept-file';

export function addBackupCommands(program: Command, output: Output): void {
  program
    .command('backup')
    .description('writes the data folder of the embedded mode to a new file; Parley may keep running')
    .argument('<file.tar.gz>', 'new file')
    .action(async (file: string) => {
      printResult(output, await stoppable((signal) => backUp(dataFolder(), file, output.err, signal)));
    });
  program
    .command('restore')
    .description('creates a data folder from a backup')
    .argument('<file.tar.gz>', 'backup')
    .option('--to <folder>', 'empty or absent folder (default: PARLEY_DATA_DIR)')
    .action(async (file: string, { to }: { to?: string }) => {
      printResult(output, await stoppable((signal) => restore(file, to ?? dataFolder(), output.err, signal)));
    });
}

/** Turns Ctrl-C and SIGTERM into a failure, so that partial results are removed. */
async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new CommandFailed('Stopped.'));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(stopping.signal);
  } catch (error) {
    stopping.signal.throwIfAborted();
    const { syscall, message } = error as NodeJS.ErrnoException;
    // Errors of the file system, such as a full disk: their message says more than a stack trace.
    throw syscall ? new CommandFailed(message) : error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
