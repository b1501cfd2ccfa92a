/** Permanent error: the URL, or an address of its name, may not be called. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/** No complete response within the time limit, which includes name resolution, connection and body. */
export class RequestTimedOut extends Error {
  override readonly name = 'RequestTimedOut';
}

/** No complete response: unknown name, refused or broken connection, TLS error, invalid HTTP. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';

  constructor(
    message: string,
    /** Code of the cause, such as `ECONNREFUSED` or `UND_ERR_SOCKET`. */
    readonly code: string,
    options: ErrorOptions,
  ) {
    super(message, options);
  }
}

export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

export class RequestTooLarge extends Error {
  override readonly name = 'RequestTooLarge';
}
