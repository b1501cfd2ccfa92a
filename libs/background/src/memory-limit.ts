/** Memory limit of the container in bytes; Infinity without a limit. */
export function memoryLimitBytes(constrained = process.constrainedMemory()): number {
  // Without a limit Node returns 0 or, with some kernels, a number beyond the safe integers.
  return constrained && constrained <= Number.MAX_SAFE_INTEGER ? constrained : Infinity;
}
