/** The server asks to slow down (429, 503): backpressure, not failure. */
export class ServerBusy extends Error {
  override readonly name: string = 'ServerBusy';
  constructor(
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/** The server will never accept this text (400, 413, 422), such as one that is too long: the message is its answer, shortened. */
export class ServerRefused extends Error {
  override readonly name: string = 'ServerRefused';
}

/** No usable answer (5xx, timeout, connection refused, garbage), or none until somebody mends key, model, address or quota: worth another attempt later. */
export class ServerUnavailable extends Error {
  override readonly name: string = 'ServerUnavailable';
}
