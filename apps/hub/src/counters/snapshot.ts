import { ApiError } from '@parley/contracts/errors';
import { invalidNextToken } from '@parley/persistence/keyset';

/** Time limit in hours for paging through a list sorted by counters. */
export const snapshotHours = 24;

export interface Snapshot {
  /** Time of the logical clock `counter_clock`. */
  time: string;
  /** Unix time of the first page in milliseconds. */
  takenAt: number;
}

export function withSnapshot({ time, takenAt }: Snapshot, token: string): string {
  return `${time}.${takenAt}.${token}`;
}

/** Throws InvalidQuery for an invalid token and for one older than `snapshotHours`. */
export function readSnapshot(token: string): { snapshot: Snapshot; rest: string } {
  const [, time, takenAt, rest] = /^(\d{1,15})\.(\d{1,15})\.(.*)$/.exec(token) ?? [];
  if (time === undefined || takenAt === undefined || rest === undefined) {
    throw invalidNextToken();
  }
  if (Date.now() - Number(takenAt) > snapshotHours * 3_600_000) {
    throw new ApiError('InvalidQuery', `nextToken is older than ${snapshotHours} hours: begin with the first page.`);
  }
  return { snapshot: { time, takenAt: Number(takenAt) }, rest };
}
