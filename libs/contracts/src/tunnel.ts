import { IsBoolean, IsInt, IsString } from 'class-validator';
import { ApiError } from './errors';
import { MapOf, Optional } from './fields';
import { instanceOperation } from './operation';

/** Longest time limit of a request, in milliseconds. */
export const maxTunnelTimeoutMs = 120_000;
/** Request or answer as JSON text. */
export const maxTunnelFrameBytes = 5_000_000;
/** Requests of a tunnel in progress at once. */
export const maxTunnelRequests = 100;
/** Answers to requests that reach their time limit arrive later than the limit. */
const marginMs = 2_000;

/** HTTP request to the bot or integration of a `bp dev` client. */
export class TunnelRequest {
  @IsString() method!: string;

  /** Begins with a slash. */
  @IsString() path!: string;

  /** Without the question mark. */
  @Optional() @IsString() query?: string;

  @MapOf(String) headers!: Record<string, string>;
  @Optional() @IsString() body?: string;

  /** Time limit in milliseconds, at most 120,000; 60,000 when absent. */
  @Optional() @IsInt() timeoutMs?: number;

  /** Unique. `tunnelHolder` tells whether the request is in progress. */
  @Optional() @IsString() requestId?: string;
}

export class TunnelReply {
  @IsInt() status!: number;

  /** Names in lower case. Values of a repeated header are joined by commas. */
  @MapOf(String) headers!: Record<string, string>;

  @IsString() body!: string;
}

/** Keyed by `tunnelKey` of `libs/secrets`. `tunnelFailureOf` returns the reason of an error. */
export const tunnelRequest = instanceOperation({
  subject: 'gateway.tunnel',
  input: TunnelRequest,
  output: TunnelReply,
  timeoutMs: maxTunnelTimeoutMs + marginMs,
});

export class FindTunnelHolder {
  @Optional() @IsString() requestId?: string;
}

export class TunnelHolder {
  /** Whether the holder waits for the answer to the request. Present with `requestId`. */
  @Optional() @IsBoolean() isPending?: boolean;
}

/** Answered by the gateway that holds the tunnel of the key. */
export const tunnelHolder = instanceOperation({
  subject: 'gateway.tunnelHolder',
  input: FindTunnelHolder,
  output: TunnelHolder,
});

const idPattern = /^[\w|-]{1,128}$/;

export function isTunnelId(id: string): boolean {
  return idPattern.test(id);
}

/**
 * - `not connected`: no client has a tunnel with this id. The request was not sent.
 * - `busy`: too many requests are in progress, or the client reads too slowly. The request was not sent.
 * - `too large`: the request exceeds the size limit. It was not sent.
 * - `disconnected`: the tunnel closed before the answer. The client may have processed the request.
 * - `timed out`: the client did not answer within the time limit. It may have processed the request.
 */
export type TunnelFailure = 'not connected' | 'busy' | 'too large' | 'disconnected' | 'timed out';

export function tunnelError(failure: TunnelFailure): ApiError {
  const metadata = { tunnel: failure };
  const retryable = { code: 503, retryAfterSeconds: 1, metadata };
  switch (failure) {
    case 'not connected':
      return new ApiError('Internal', 'No tunnel client is connected: start `bp dev`.', retryable);
    case 'busy':
      return new ApiError('Internal', `The tunnel is busy: at most ${maxTunnelRequests} requests at once.`, retryable);
    case 'too large':
      return new ApiError(
        'PayloadTooLarge',
        `The request is too large for the tunnel: at most ${maxTunnelFrameBytes} bytes.`,
        { metadata },
      );
    case 'disconnected':
      return new ApiError('Internal', 'The tunnel closed before the client answered.', retryable);
    case 'timed out':
      return new ApiError('OperationTimeout', 'The tunnel client did not answer in time.', { metadata });
  }
}

/** Undefined for an error that does not come from a tunnel. */
export function tunnelFailureOf(error: unknown): TunnelFailure | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const failure = error.metadata?.['tunnel'] as TunnelFailure | undefined;
  if (failure) return failure;
  // The bus answers 503 at once when no gateway serves the key.
  if (error.code === 503) return 'not connected';
  return error.type === 'OperationTimeout' ? 'timed out' : undefined;
}
