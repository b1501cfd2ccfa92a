import { service } from '../access';
import { operation } from '../operation';
import { CodeCheck, LoadCode, runner } from '../runner/runner';

/** For services of the former release. Others ask a runner. */
export const codeChecks = {
  run: operation({
    subject: 'runtime.codeChecks.run',
    summary: 'Loads code before it is deployed, if a runner has a place for it.',
    access: service,
    input: LoadCode,
    output: CodeCheck,
    timeoutMs: runner.codeChecks.run.timeoutMs,
  }),
};
