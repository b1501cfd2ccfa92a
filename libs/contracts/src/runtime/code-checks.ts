import { IsString } from 'class-validator';
import { service } from '../access';
import { Nullable } from '../fields';
import { operation } from '../operation';
import { LoadCode } from '../runner/runner';

/** Time in milliseconds for which a deployment waits for its code check. */
export const codeCheckMs = 15_000;

export class CodeCheck {
  /** Reason why the code cannot be loaded. Null if it was loaded, and if no runner could try or came to an end in time. */
  @Nullable() @IsString() failure!: string | null;
}

export const codeChecks = {
  run: operation({
    subject: 'runtime.codeChecks.run',
    summary: 'Loads code before it is deployed, if a runner has a place for it.',
    access: service,
    input: LoadCode,
    output: CodeCheck,
    timeoutMs: codeCheckMs + 2_000,
  }),
};
