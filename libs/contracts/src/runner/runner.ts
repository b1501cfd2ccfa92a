import { IsArray, IsBoolean, IsIn, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { ApiError } from '../errors';
import { MapOf, Nested, Nullable, Optional } from '../fields';
import { broadcast, instanceOperation, operation } from '../operation';
import { Empty } from '../paging';
import { LogContext } from '../runtime/logs';
import { CodePart } from './code';

/** Longest time limit of an invocation, in milliseconds. */
export const maxCodeTimeoutMs = 120_000;
/** Body of a request or an answer, in bytes of UTF-8. */
export const maxCodeBodyBytes = 5_000_000;
/** Runners in processes of their own announce themselves this often, in milliseconds. */
export const announceMs = 2_000;
/**
 * Longest time in milliseconds until a process is ready, beside the time limit of the call: the runner gives up after 100 s
 * (`not started`), and gets the code before. Those who wait for an answer have a deadline of their own, which is shorter.
 */
export const maxStartMs = 120_000;

/** Calls of each lane have slots of their own: a handler of an event can call an action of its own bot. */
export const lanes = ['events', 'actions', 'webhooks'] as const;
export type Lane = (typeof lanes)[number];

export const codeOwners = ['bot', 'integration'] as const;
export type CodeOwner = (typeof codeOwners)[number];

/** Request to the handler of a bundle. */
export class InvokeCode {
  @IsIn(codeOwners) owner!: CodeOwner;

  /** Bot, or version of an integration. One process serves no other owner. */
  @IsString() ownerId!: string;

  /** Bot that the code is called for. */
  @IsString() botId!: string;

  /** Changes with the code and with the secrets: another process serves it. */
  @IsString() codeRevision!: string;

  /** `SealedCodeSecrets`, where the runner lacked secrets: together they hold all. */
  @Optional() @IsArray() @IsString({ each: true }) sealed?: string[];

  @MapOf(String) headers!: Record<string, string>;
  @IsString() body!: string;

  /** Default: `events`. */
  @Optional() @IsIn(lanes) lane?: Lane;

  /** Subjects of the call, for its log lines. */
  @Optional() @Nested(LogContext) context?: LogContext;

  /** Time limit in milliseconds, at most 120,000. */
  @IsInt() timeoutMs!: number;
}

export class CodeAnswer {
  @IsInt() status!: number;
  @IsString() body!: string;

  /** Headers of an answer to a webhook. */
  @Optional() @MapOf(String) headers?: Record<string, string>;
}

/** Keyed by the id of a runner. `runnerFailureOf` returns the reason of an error. */
export const invokeCode = instanceOperation({
  subject: 'runner.invoke',
  input: InvokeCode,
  output: CodeAnswer,
  timeoutMs: maxCodeTimeoutMs + maxStartMs,
});

/** Part of the code that a runner lacked. The first one has the offset 0, and each other one the `nextOffset` before it. */
export class PutCodePart extends CodePart {
  @IsString() ownerId!: string;
  @IsString() codeRevision!: string;
  @IsInt() offset!: number;
}

/** Keyed by the id of a runner. Idempotent. Refused as `unprepared` when the runner lacks the part before. */
export const putCodePart = instanceOperation({
  subject: 'runner.putCodePart',
  input: PutCodePart,
  output: Empty,
  timeoutMs: 30_000,
});

/** Code that is to be deployed. */
export class LoadCode {
  @IsIn(codeOwners) owner!: CodeOwner;

  /** Bot or version of an integration. Absent for one that is to be created. */
  @Optional() @IsString() ownerId?: string;

  @IsString() code!: string;

  /** Decrypted: never logged, and never written to a disk. */
  @MapOf(String) secrets!: Record<string, string>;
}

/** Time in milliseconds for which a deployment waits for its code check. */
export const codeCheckMs = 15_000;

export class CodeCheck {
  /** Reason why the code cannot be loaded. Null if it was loaded, and if the runner had no place or came to no end in time. */
  @Nullable() @IsString() failure!: string | null;
}

/** Operations that any runner answers. */
export const runner = {
  codeChecks: {
    run: operation({
      subject: 'runner.codeChecks.run',
      summary: 'Loads code before it is deployed, once the runner has a place for it.',
      access: service,
      input: LoadCode,
      output: CodeCheck,
      timeoutMs: codeCheckMs + 2_000,
    }),
  },
};

/** Sign of life of a runner, also sent on request and at its stop. */
export class RunnerAnnounced {
  @IsString() runnerId!: string;

  /** Processes that it can start for other bundles, those that are idle included. */
  @IsInt() freePlaces!: number;

  /** True for the last announcement before the runner stops. */
  @Optional() @IsBoolean() isLeaving?: boolean;
}

export const runnerAnnounced = broadcast({ subject: 'runner.announced', data: RunnerAnnounced });

/** Asks all runners to announce themselves. */
export const runnersWanted = broadcast({ subject: 'runtime.runnersWanted', data: Empty });

/** Needed for the start of a process, and brought by whoever calls the code. */
export const preparations = ['code', 'secrets'] as const;

export interface Lacking {
  lacks: (typeof preparations)[number][];
  /** Key for which the secrets are to be sealed. The runner made it at its start. */
  publicKey: string;
}

/**
 * - `busy`: no place is free. The code was not called.
 * - `away`: no such runner serves, or it stops. The code was not called.
 * - `unprepared`: a process has to be started, and the runner lacks code, or secrets for it: see `lackingOf`. It keeps a place
 *   for some seconds. The code was not called.
 * - `not started`: the process of the code did not get ready although its code had not used up its processor time: the
 *   machine was too busy, or its start was cut off. The code was not called.
 * - `paused`: its processes keep ending, so the next one starts after a pause. The code was not called.
 * - `not loadable`: the bundle could not be loaded, or has no handler.
 * - `failed`: the handler threw an error that it did not handle.
 * - `crashed`: the process of the bundle ended. The code may have done its work.
 * - `out of memory`: the process exceeded its memory limit.
 * - `timed out`: no answer within the time limit.
 * - `too large`: the answer exceeds the size limit.
 */
export const runnerFailures = [
  'busy',
  'away',
  'unprepared',
  'not started',
  'paused',
  'not loadable',
  'failed',
  'crashed',
  'out of memory',
  'timed out',
  'too large',
] as const;
export type RunnerFailure = (typeof runnerFailures)[number];

/** `ended`: the runner ended, stopped or fell silent under the call. The code may have done its work. */
export type CallFailure = RunnerFailure | 'ended';

/** @param details rest of a pause, or what an unprepared runner lacks */
export function runnerError(failure: RunnerFailure, message: string, details?: { leftMs: number } | Lacking): ApiError {
  const metadata = { runner: failure, ...details };
  switch (failure) {
    case 'busy':
      return new ApiError('RateLimited', message, { metadata });
    case 'unprepared':
      return new ApiError('ReferenceNotFound', message, { metadata });
    case 'away':
    case 'not started':
      return new ApiError('Internal', message, { code: 503, metadata });
    case 'timed out':
      return new ApiError('OperationTimeout', message, { metadata });
    case 'paused':
    case 'not loadable':
    case 'failed':
    case 'crashed':
    case 'out of memory':
    case 'too large':
      return new ApiError('Runtime', message, { metadata });
  }
}

/** Rest of the pause of code, in milliseconds. */
export const pauseLeftMs = (error: unknown): number => Number((error as ApiError).metadata?.['leftMs']);

/** Undefined unless the error is that of an unprepared runner. */
export function lackingOf(error: unknown): Lacking | undefined {
  return runnerFailureOf(error) === 'unprepared' ? ((error as ApiError).metadata as unknown as Lacking) : undefined;
}

/** Undefined for an error that does not come from a runner. */
export function runnerFailureOf(error: unknown): CallFailure | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const failure = error.metadata?.['runner'] as RunnerFailure | undefined;
  if (failure) return failure;
  // The bus answers 503 at once when no process serves the key.
  if (error.code === 503) return 'away';
  // A runner that stops answers so too.
  return error.type === 'OperationTimeout' ? 'ended' : undefined;
}
