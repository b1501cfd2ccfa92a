import { randomBytes } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import { ApiError, type ErrorBody, type ErrorType } from '@parley/contracts/errors';

/** Same format as in the public clients: `err_`, UTC time in 14 digits, `x`, 8 hex digits. */
export function newErrorId(now = new Date()): string {
  const time = now.toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `err_${time}x${randomBytes(4).toString('hex').toUpperCase()}`;
}

export function toErrorBody({ type, code, message, metadata }: ApiError, id: string): ErrorBody {
  return { id, code, type, message, metadata };
}

/** Error in the format of OpenAI's API. */
export function toOpenAiBody({ type, message }: ApiError, id: string): object {
  return { error: { message, type: openAiTypes[type] ?? 'invalid_request_error', param: null, code: type, id } };
}

const openAiTypes: Partial<Record<ErrorType, string>> = {
  Unauthorized: 'authentication_error',
  Forbidden: 'permission_error',
  QuotaExceeded: 'insufficient_quota',
  RateLimited: 'rate_limit_error',
  Internal: 'server_error',
  Unknown: 'server_error',
  OperationTimeout: 'server_error',
};

/** Any failure as an ApiError. An unexpected one becomes Internal, without details. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof HttpException) return ofStatus(error.getStatus(), error.message, error);
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message: string };
  if (code?.startsWith('FST_') && statusCode) return ofStatus(statusCode, message, error);
  return new ApiError('Internal', 'Internal server error.', { cause: error });
}

function ofStatus(status: number, message: string, cause: unknown): ApiError {
  switch (status) {
    case 404:
      return new ApiError('ResourceNotFound', `${message}: this path is not available in this version. See /docs.`, {
        cause,
      });
    case 413:
      return new ApiError('PayloadTooLarge', message, { cause });
    case 415:
      return new ApiError('UnsupportedMediaType', 'The body must be JSON, with content-type application/json.', {
        cause,
      });
    default:
      return status < 500
        ? new ApiError('InvalidPayload', message, { cause })
        : new ApiError('Internal', 'Internal server error.', { cause });
  }
}
