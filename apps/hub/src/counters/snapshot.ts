import { ApiError } from '@parley/contracts/errors';

/** How long a list that is sorted by counters can be paged. */
export const snapshotHours = 24;

/** The moment that all pages of a list show the counters of. */
export interface Snapshot {
  /** Of the counters' clock. */
  time: string;
  /** When the first page was asked for, in milliseconds. */
  takenAt: number;
}

/** A token of a list's order with the snapshot that it goes on with. */
export function withSnapshot({ time, takenAt }: Snapshot, token: string): string {
  return `${time}.${takenAt}.${token}`;
}

/** Throws InvalidQuery for what is no such token, and for one that is too old. */
export function readSnapshot(token: string): { snapshot: Snapshot; rest: string } {
  const [, time, takenAt, rest] = /^(\d{1,15})\.(\d{1,15})\.(.*)$/.exec(token) ?? [];
  if (time === undefined || takenAt === undefined || rest === undefined) {
    throw new ApiError(
      'InvalidQuery',
      'nextToken is not one of this list: take it from meta.nextToken of the page before, with the same parameters.',
    );
  }
  if (Date.now() - Number(takenAt) > snapshotHours * 3_600_000) {
    throw new ApiError('InvalidQuery', `nextToken is older than ${snapshotHours} hours: begin with the first page.`);
  }
  return { snapshot: { time, takenAt: Number(takenAt) }, rest };
}
