import 'reflect-metadata';
import { endWithReader } from './output';
import { runCommand } from './program';

endWithReader();

void runCommand(
  process.argv.slice(2),
  (text) => process.stdout.write(text),
  (text) => process.stderr.write(text),
).then((code) => {
  process.exitCode = code;
});
