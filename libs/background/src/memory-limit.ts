/** Bytes that the container of this process may take, or Infinity where nothing but the machine limits them. */
export function memoryLimitBytes(constrained = process.constrainedMemory()): number {
  // Without a limit Node says 0 or, as the kernel does, a number that no machine has.
  return constrained && constrained <= Number.MAX_SAFE_INTEGER ? constrained : Infinity;
}
