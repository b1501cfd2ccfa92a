import { JsonLines } from '@parley/background/json-lines';
import { serveTasks } from '@parley/child-processes/serve-tasks';
import { withBoundedMemory } from './bounded-memory';
import type { VrlResult, VrlScript } from './vrl-runner';

const maxMemoryBytes = 256 * 2 ** 20;
const maxResultBytes = 100_000;
const maxProblemLength = 500;

/** The types of the engine say `any`. */
type Execute = (script: string, data: Record<string, unknown>) => { result: unknown; event: Record<string, unknown> };

/** The part of the global that is used here: Node declares no types for it. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Module: new (program: Uint8Array) => object; RuntimeError: new () => Error };
};
const { Module } = WebAssembly;
// The engine brings its program with it: this is the only way to bound its memory.
WebAssembly.Module = class extends Module {
  constructor(program: Uint8Array) {
    super(withBoundedMemory(program, maxMemoryBytes));
  }
};
// A script that exhausts the memory makes the engine print its stack.
// oxlint-disable-next-line no-console
console.error = () => undefined;

let engine: Execute | undefined = loadEngine();

serveTasks<null, VrlResult>(async (_task, content) => resultOf((await new JsonLines([content]).parse()) as VrlScript));

function resultOf({ script, data, isDataWanted }: VrlScript): VrlResult {
  engine ??= loadEngine();
  try {
    const { result, event } = engine(script, data);
    const bytes = Buffer.byteLength(JSON.stringify([result, isDataWanted ? event : null]));
    if (bytes > maxResultBytes) return { problem: `The result has more than ${maxResultBytes} bytes.` };
    return isDataWanted ? { result, data: event } : { result };
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) return { problem: problemOf(error) };
    // The state of the engine is undefined after a trap, and its memory stays as large as it was.
    engine = undefined;
    return { problem: 'The script takes too much memory.' };
  }
}

function loadEngine(): Execute {
  const path = require.resolve('@bpinternal/verel');
  delete require.cache[path];
  // oxlint-disable-next-line typescript/no-require-imports
  return (require(path) as { execute: Execute }).execute;
}

function problemOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, maxProblemLength);
}
