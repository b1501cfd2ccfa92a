/** Bytes of UTF-8 of one program. */
export const maxCodeBytes = 25_000_000;

/** Bundles may come with binary fields as lists of numbers, one for each byte: they are dropped, and cost no more than that. */
const bodyLimitValues = 10_000_000;

/**
 * For operations that take code: 25 MB of it, with the quotes and line breaks that JSON escapes, and the definition beside it.
 * A bot that bundles five plugins is a body of 8 MB.
 */
export const withCode = {
  bodyLimitBytes: 32_000_000,
  bodyLimitValues,
  bodyLimitHint: `its field code may have ${maxCodeBytes} of them`,
  timeoutMs: 30_000,
};
