// Builds if sources have changed, then runs one of our programs: `node tools/run.mjs apps/cli/src/demo README.md`.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, root } from './build.mjs';
import { onRuntime } from './runtime.cjs';

await onRuntime();
build();
const [program] = process.argv.splice(2, 1);
createRequire(import.meta.url)(join(root, 'dist', program));
