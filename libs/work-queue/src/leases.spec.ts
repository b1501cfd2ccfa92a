import { createLogger } from '@parley/logging/logger';
import { Leases } from './leases';
import { LeaseLost } from './queue';
import type { LeaseOf, WorkRepository } from './work.repository';

const leaseMs = 15_000;
const leaseOf = (key: string): LeaseOf => ({ queue: 'probe', key, lease: 'lease' });

/** Leases, and a database that answers as the test says. */
function setUp() {
  const renewed: string[][] = [];
  const database = { isAway: false, answers: Promise.resolve(), lost: [] as string[] };
  const renewLeases = async (held: LeaseOf[]) => {
    if (database.isAway) throw new Error('The database has gone.');
    renewed.push(held.map(({ key }) => key));
    await database.answers;
    return held.filter(({ key }) => database.lost.includes(key));
  };
  const leases = new Leases({ renewLeases } as unknown as WorkRepository, createLogger('test', 'silent'));
  const hold = (key: string, ms = leaseMs) => leases.hold(leaseOf(key), ms, performance.now());
  return { leases, hold, renewed, database };
}

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const reasonOf = ({ work }: ReturnType<Leases['hold']>): unknown => work.signal.reason;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('renews all leases in one statement, three times as often as the shortest would end', async () => {
  const { leases, hold, renewed } = setUp();
  const held = [hold('a'), hold('b', 30_000)];

  await pass(leaseMs);

  expect(renewed).toEqual(Array(3).fill(['a', 'b']));
  await pass(2 * leaseMs);
  expect(held.map(reasonOf)).toEqual([undefined, undefined]);
  await leases.stop();
});

it('aborts the work whose lease another process has, and no other', async () => {
  const { leases, hold, database } = setUp();
  const [mine, theirs] = [hold('a'), hold('b')];
  database.lost = ['b'];

  await pass(leaseMs);

  expect([reasonOf(mine), reasonOf(theirs)]).toEqual([undefined, expect.any(LeaseLost)]);
  await leases.stop();
});

it('aborts work at the end of its lease while the database is away, and not before', async () => {
  const { leases, hold, database } = setUp();
  const held = hold('a');
  database.isAway = true;

  await pass(leaseMs - 1);
  expect(reasonOf(held)).toBeUndefined();
  await pass(1);

  expect(reasonOf(held)).toEqual(expect.any(LeaseLost));
  await leases.stop();
});

it('counts a lease from the sending of its renewal, however late the answer is', async () => {
  const { leases, hold, database } = setUp();
  const held = hold('a');
  const beatMs = leaseMs / 3;
  let answer!: () => void;
  database.answers = new Promise((resolve) => (answer = resolve));
  await pass(2 * beatMs);
  answer();
  await pass(0);
  database.isAway = true;

  await pass(2 * beatMs - 1);
  expect(reasonOf(held)).toBeUndefined();
  await pass(1);

  expect(reasonOf(held)).toEqual(expect.any(LeaseLost));
  await leases.stop();
});

it('keeps work whose lease is renewed after a missed heartbeat', async () => {
  const { leases, hold, database } = setUp();
  const held = hold('a');
  database.isAway = true;
  await pass(leaseMs / 2);
  database.isAway = false;

  await pass(3 * leaseMs);

  expect(reasonOf(held)).toBeUndefined();
  await leases.stop();
});

it('renews no lease that was released, and none after a stop', async () => {
  const { leases, hold, renewed } = setUp();
  leases.release(hold('a'));
  await pass(leaseMs);
  expect(renewed).toEqual([]);
  hold('b');

  await leases.stop();
  await pass(leaseMs);

  expect(renewed).toEqual([]);
});
