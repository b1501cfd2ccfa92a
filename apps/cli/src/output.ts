/** Results go to `out`, so that they can be piped; errors, progress and hints go to `err`. */
export interface Output {
  out: (text: string) => void;
  err: (text: string) => void;
}

/** Prints text as it is and everything else as indented JSON. */
export function printResult({ out }: Output, result: unknown): void {
  out(`${typeof result === 'string' ? result : JSON.stringify(result, null, 2)}\n`);
}

/** Exits when the reader of standard output has closed the pipe, as in `… | head`. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

/** A command that cannot succeed. Its message is printed without a stack trace, and the exit code is 1. */
export class CommandFailed extends Error {}
