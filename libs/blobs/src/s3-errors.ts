import { type ApiError, unavailable } from '@parley/contracts/errors';
import { refusalOfS3 } from './refused-writes';

/** Error answer of S3, without the details of the request that the SDK keeps. */
export class S3Refusal extends Error {
  override readonly name = 'S3Refusal';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(`S3 answered ${status} ${code}: ${message}`);
  }
}

export interface SdkError {
  name?: string;
  message?: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

const transientCodes = ['InternalError', 'OperationAborted', 'RequestTimeout', 'ServiceUnavailable', 'SlowDown'];

/** Maps transient failures and missing answers to a 503 that may be retried. Other errors keep their message. */
export function toOurError({ name = 'Unknown', message = '', code, $metadata }: SdkError): Error {
  const status = $metadata?.httpStatusCode;
  if (name === 'CredentialsProviderError') return new Error(`Cannot send requests to S3: ${message}`);
  if (status === undefined) return unanswered(`${code ?? name} ${message}`);
  const refusal = new S3Refusal(status, name, message);
  const noRoom = refusalOfS3(status, name, refusal);
  if (noRoom) return noRoom;
  const isTransient = (status >= 500 && status !== 501) || status === 429 || status === 408;
  return isTransient || transientCodes.includes(name) ? unanswered(refusal.message) : refusal;
}

export function unanswered(reason: string): ApiError {
  return unavailable('The content store does not answer. Try again in a moment.', new Error(reason));
}

export function isMissing(error: unknown): boolean {
  return error instanceof S3Refusal && ['NoSuchKey', 'NotFound'].includes(error.code);
}

/** For removals: a missing object or upload is fine, a missing bucket is not. */
export function unlessGone(error: unknown): void {
  const isGone = isMissing(error) || (error instanceof S3Refusal && error.code === 'NoSuchUpload');
  if (!isGone) throw error;
}
