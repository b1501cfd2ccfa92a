import 'reflect-metadata';
import { warningsAboutUnknown } from '@parley/config/unknown-variables';
import { endWithReader } from './output';
import { runCommand } from './program';

endWithReader();
for (const warning of warningsAboutUnknown(process.env)) process.stderr.write(`${warning}\n`);

void runCommand(
  process.argv.slice(2),
  (text) => process.stdout.write(text),
  (text) => process.stderr.write(text),
).then((code) => {
  process.exitCode = code;
});
