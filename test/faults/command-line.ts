/** Parses the arguments of this process. Prints the usage and exits for `--help` and for arguments that `read` rejects. */
export function optionsOrExit<T>(usage: string, read: (args: string[]) => T): T {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(`${usage}\n`);
    process.exit();
  }
  try {
    return read(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}\n`);
    process.exit(1);
  }
}
