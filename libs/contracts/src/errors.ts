/** Every error type that clients know, with the HTTP status that goes with it. */
export const errorCodes = {
  Unknown: 500,
  Internal: 500,
  Unauthorized: 401,
  Forbidden: 403,
  PayloadTooLarge: 413,
  InvalidPayload: 400,
  UnsupportedMediaType: 415,
  MethodNotFound: 405,
  ResourceNotFound: 404,
  InvalidJsonSchema: 400,
  InvalidDataFormat: 400,
  InvalidIdentifier: 400,
  RelationConflict: 409,
  ReferenceConstraint: 409,
  ResourceLockedConflict: 409,
  ResourceGone: 410,
  ReferenceNotFound: 400,
  InvalidQuery: 400,
  Runtime: 400,
  AlreadyExists: 409,
  RateLimited: 429,
  PaymentRequired: 402,
  QuotaExceeded: 403,
  LimitExceeded: 413,
  BreakingChanges: 400,
  OperationTimeout: 504,
} as const;

export type ErrorType = keyof typeof errorCodes;

/** Body of every error answer. `code` is the HTTP status and `id` stands in the log line of the same failure. */
export interface ErrorBody {
  id: string;
  code: number;
  type: ErrorType;
  message: string;
  metadata?: Record<string, unknown>;
}

/** What travels over the bus when an operation fails: the promise to the caller, without anything internal. */
export interface WireError {
  type: ErrorType;
  message: string;
  code?: number;
  metadata?: Record<string, unknown>;
  retryAfterSeconds?: number;
}

/** A failure that the caller may see. Anything else that is thrown becomes Internal without its message. */
export class ApiError extends Error {
  /** HTTP status; differs from the type's own only for Internal 503. */
  readonly code: number;
  readonly metadata?: Record<string, unknown>;
  readonly retryAfterSeconds?: number;

  constructor(
    readonly type: ErrorType,
    message: string,
    options: Pick<WireError, 'code' | 'metadata' | 'retryAfterSeconds'> & { cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = options.code ?? errorCodes[type];
    this.metadata = options.metadata;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  toWire(): WireError {
    const { type, message, code, metadata, retryAfterSeconds } = this;
    return { type, message, code, metadata, retryAfterSeconds };
  }

  static fromWire({ type, message, ...options }: WireError): ApiError {
    return Object.hasOwn(errorCodes, type) ? new ApiError(type, message, options) : new ApiError('Unknown', message);
  }
}

/** Something that we need does not answer just now: 503 with `Retry-After`. Nothing was committed. */
export function unavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('Internal', message, { code: 503, retryAfterSeconds: 1, cause });
}

/** A store that answers but takes no writes, as one whose disk is full: 503 until its operator has made room. */
export class WritesRefused extends ApiError {
  /** @param store as the sentence about it begins */
  constructor(store: string, cause: unknown) {
    super('Internal', `${store} takes no writes just now: nothing was stored. Try again later.`, {
      code: 503,
      retryAfterSeconds: 30,
      cause,
    });
  }
}

/** The same words for what does not exist and for what belongs to somebody else. */
export function notFound(resource: string, id: string): ApiError {
  return new ApiError('ResourceNotFound', `There is no ${resource} "${id}" here.`);
}

/** Likewise for what a header names. */
export function forbiddenHeader(header: string, value: string): ApiError {
  return new ApiError('Forbidden', `${header} "${value}" names nothing that this token may use.`);
}
