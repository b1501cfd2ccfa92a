import { operator, workspace } from '../access';
import { ListOf } from '../fields';
import { channel, operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';
import { LogLine } from './logs';

/** Time between two comments on a quiet stream, in milliseconds. */
export const tailPingMs = 30_000;

export class LogLines {
  @ListOf(LogLine) lines!: LogLine[];
}

/** Lines as they are stored, keyed by the id of the bot. */
export const logLines = channel({ subject: 'runtime.logLines', data: LogLines });

export class FollowLogs {
  @PathParam() id!: string;
}

/**
 * Streams of server-sent events, which the gateway itself answers: each event is a line as JSON, from the moment of the
 * request on.
 */
export const followLogs = {
  ofBot: operation({
    subject: 'gateway.followLogs',
    route: 'GET /v1/admin/bots/{id}/logs/stream',
    summary: 'Streams what the code of a bot prints, as server-sent events.',
    access: workspace.read,
    input: FollowLogs,
    output: Empty,
  }),
  ofAnyBot: operation({
    subject: 'gateway.followLogsOfAnyBot',
    route: 'GET /operator/runtime/bots/{id}/logs/stream',
    summary: 'Streams what the code of a bot prints, as server-sent events.',
    access: operator,
    input: FollowLogs,
    output: Empty,
  }),
};
