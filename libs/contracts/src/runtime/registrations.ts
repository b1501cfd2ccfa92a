import { IsString } from 'class-validator';
import { service } from '../access';
import { operation } from '../operation';
import { Empty } from '../paging';

/** Time in milliseconds for which the answer to a change of installations waits for their registration. */
export const registrationWaitMs = 20_000;

export class RunRegistrations {
  @IsString() botId!: string;
}

export const registrationRuns = {
  run: operation({
    subject: 'runtime.registrations.run',
    summary: 'Registers the pending installations of a bot, and waits for the outcome for 20 seconds at most.',
    access: service,
    input: RunRegistrations,
    output: Empty,
    timeoutMs: registrationWaitMs + 2_000,
  }),
};
