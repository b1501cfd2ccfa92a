/** Error types that clients know, with their HTTP status. */
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

/** Body of every error response. `code` is the HTTP status; `id` is also in the log line of the failure. */
export interface ErrorBody {
  id: string;
  code: number;
  type: ErrorType;
  message: string;
  metadata?: Record<string, unknown>;
}

/** Error as it travels over the bus: what the caller may see, without internals. */
export interface WireError {
  type: ErrorType;
  message: string;
  code?: number;
  metadata?: Record<string, unknown>;
  retryAfterSeconds?: number;
}

/** Error that the caller may see. Every other exception becomes Internal without its message. */
export class ApiError extends Error {
  /** HTTP status; differs from the status of the type only for Internal with 503. */
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

/** Temporary outage of a dependency: 503 with `Retry-After`. Nothing was committed. */
export function unavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('Internal', message, { code: 503, retryAfterSeconds: 1, cause });
}

/** Store that answers but rejects writes, for example with a full disk: 503 until its operator has freed space. */
export class WritesRefused extends ApiError {
  /** @param store subject of the error message, such as "The database" */
  constructor(store: string, cause: unknown) {
    super('Internal', `${store} does not accept writes at present; nothing was stored. Try again later.`, {
      code: 503,
      retryAfterSeconds: 30,
      cause,
    });
  }
}

/** Not found. Equal for a resource that does not exist and one of another tenant. */
export function notFound(resource: string, id: string): ApiError {
  return new ApiError('ResourceNotFound', `The ${resource} "${id}" was not found.`);
}

/** Undefined instead of ResourceNotFound. Other errors are thrown. */
export async function ifFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.type === 'ResourceNotFound') return undefined;
    throw error;
  }
}

/** Forbidden. Equal for a header value that does not exist and one that the token has no access to. */
export function forbiddenHeader(header: string, value: string): ApiError {
  return new ApiError('Forbidden', `${header} "${value}" was not found, or this token has no access to it.`);
}
