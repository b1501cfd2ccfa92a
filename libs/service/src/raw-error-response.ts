import { STATUS_CODES } from 'node:http';
import type { ApiError } from '@parley/contracts/errors';
import { toErrorBody } from './error-body';
import { securityHeaders } from './security-headers';

/** An error as a raw HTTP response, for a connection without a server response. The caller closes the connection. */
export function rawErrorResponse(error: ApiError, id: string, headers: Record<string, string> = {}): string {
  const body = JSON.stringify(toErrorBody(error, id));
  const head = [
    `HTTP/1.1 ${error.code} ${STATUS_CODES[error.code]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-error-id: ${id}`,
    ...(error.retryAfterSeconds === undefined ? [] : [`retry-after: ${error.retryAfterSeconds}`]),
    ...Object.entries({ ...securityHeaders, ...headers }).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
