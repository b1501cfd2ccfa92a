import { type ApiError, unavailable } from '@parley/contracts/errors';
import { refusalOfS3 } from './refused-writes';

/** What S3 answered, without what its client remembers of the request. */
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

/** "S3 does not answer" is a 503 that may be repeated. What it refuses, or what keeps us from asking, is told as it is. */
export function toOurError({ name = 'Unknown', message = '', code, $metadata }: SdkError): Error {
  const status = $metadata?.httpStatusCode;
  if (name === 'CredentialsProviderError') return new Error(`S3 cannot be asked: ${message}`);
  if (status === undefined) return unanswered(`${code ?? name} ${message}`);
  const refusal = new S3Refusal(status, name, message);
  const noRoom = refusalOfS3(status, name, refusal);
  if (noRoom) return noRoom;
  const isTransient = (status >= 500 && status !== 501) || status === 429 || status === 408;
  return isTransient || transientCodes.includes(name) ? unanswered(refusal.message) : refusal;
}

export function unanswered(reason: string): ApiError {
  return unavailable('The store of contents does not answer. Try again in a moment.', new Error(reason));
}

export function isMissing(error: unknown): boolean {
  return error instanceof S3Refusal && ['NoSuchKey', 'NotFound'].includes(error.code);
}

/** For what is to be removed: an object or an upload that is gone already is fine, a missing bucket is not. */
export function unlessGone(error: unknown): void {
  const isGone = isMissing(error) || (error instanceof S3Refusal && error.code === 'NoSuchUpload');
  if (!isGone) throw error;
}
