/** Backpressure, not a failure: the server asks to slow down (429, 503). */
export class ServerBusy extends Error {
  override readonly name: string = 'ServerBusy';
  constructor(
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/**
 * Permanent error: the server rejects this text (400, 413, 422), for example because it is too long. The message is its
 * answer, shortened.
 */
export class ServerRefused extends Error {
  override readonly name: string = 'ServerRefused';
}

/**
 * Retryable: no usable answer (5xx, timeout, connection refused, garbage), or none until an operator fixes key, model,
 * address or quota.
 */
export class ServerUnavailable extends Error {
  override readonly name: string = 'ServerUnavailable';
}
