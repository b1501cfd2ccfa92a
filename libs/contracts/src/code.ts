/** Header of a deployment: `true` refuses code that cannot be loaded. */
export const strictDeployHeader = 'x-parley-strict-deploy';

/** Bytes of UTF-8 of one program. */
export const maxCodeBytes = 25_000_000;

/** Bundles may hold binary fields as lists of numbers, one per byte: unknown fields, which cost only their removal. */
const bodyLimitValues = 10_000_000;

/**
 * Limits of operations that take code: 25 MB of it, JSON escapes of quotes and line breaks, and the definition. A bot
 * that bundles five plugins has a body of 8 MB.
 */
export const withCode = {
  bodyLimitBytes: 32_000_000,
  bodyLimitValues,
  bodyLimitHint: `the field code may have at most ${maxCodeBytes} bytes`,
  timeoutMs: 30_000,
};
