import { setFlagsFromString } from 'node:v8';

/** Growth of the heap, in percent of what is in use, until V8 collects all of it again. */
const growthPercent = 50;

/**
 * Garbage collection for a server, from its first import on.
 *
 * By default, the old generation of a process with light load may grow by a tenth until V8 collects it. A tenth of 90 MB is
 * less than V8 keeps free for the young generation (16 MB), so that it collects the whole heap over and over: with 20
 * requests a second, 1.5 times a second, on both processors.
 *
 * By default, V8 creates objects in the old generation whose predecessors lived long, such as those of the start. Later ones
 * belong to a request, and keep all its other objects alive until the next full collection.
 *
 * By default, the young generation doubles when many of its objects survive, as nearly all of the start do: to 32 MB, which an
 * idle process keeps. It begins with 2 MB and stays as small until the end of the start.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Ends the start of a process: under load, its young generation doubles as by default. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
