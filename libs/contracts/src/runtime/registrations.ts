import { IsString } from 'class-validator';
import { service } from '../access';
import { registrationWaitMs } from '../admin/registrations';
import { operation } from '../operation';
import { Empty } from '../paging';

export class RunRegistrations {
  @IsString() botId!: string;
}

/** For admins of the former release. Others wait for the outcomes that they store. */
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
