import { IsString } from 'class-validator';
import { service } from '../access';
import { Nullable } from '../fields';
import { operation } from '../operation';
import { LoadCode } from '../runner/runner';

export class CodeCheck {
  /** Reason why the code cannot be loaded. Null if it was loaded, and if no runner could try. */
  @Nullable()
  @IsString()
  failure!: string | null;
}

export const codeChecks = {
  run: operation({
    subject: 'runtime.codeChecks.run',
    summary: 'Loads code before it is deployed, if a runner has a place for it.',
    access: service,
    input: LoadCode,
    output: CodeCheck,
    timeoutMs: 17_000,
  }),
};
