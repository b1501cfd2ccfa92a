/** More than a service's concurrency limit, so that only background work can reach it. */
export const defaultMaxWaiting = 2_000;
/** Longest deadline of an operation. Longer work runs in batches. */
export const defaultStatementTimeoutMs = 30_000;
