import { setFlagsFromString } from 'node:v8';

/** Growth of the old generation, in percent of what is in use, until V8 collects the whole heap again. */
const growthPercent = { start: 25, load: 50 };

/**
 * Garbage collection during the start of a process, from its first import on. Nearly all objects of the start live on, and an
 * idle process keeps the memory that its start needed.
 *
 * By default, the young generation doubles when many of its objects survive: to 32 MB during the start. It begins with 2 MB and
 * stays as small.
 *
 * By default, V8 creates objects in the old generation whose predecessors lived long, such as those of the start. Later ones
 * belong to a request, and keep all its other objects alive until the next full collection.
 */
export function tuneHeapForStart(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString(`--heap-growing-percent=${growthPercent.start}`);
}

/**
 * Garbage collection of a process that has started. The young generation doubles as by default.
 *
 * By default, the old generation of a process with light load may grow by a tenth until V8 collects it. A tenth of 90 MB is
 * less than V8 keeps free for the young generation (16 MB), so that it collects the whole heap over and over: with 20
 * requests a second, 1.5 times a second, on both processors.
 */
export function tuneHeapForLoad(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
  setFlagsFromString(`--heap-growing-percent=${growthPercent.load}`);
}
