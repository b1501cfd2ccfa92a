import 'reflect-metadata';
import { runCommand } from './commands';

void runCommand(process.argv.slice(2), (text) => process.stdout.write(text)).then((code) => {
  process.exitCode = code;
});
