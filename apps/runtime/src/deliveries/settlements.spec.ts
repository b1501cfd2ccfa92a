import type { DeliveriesRepository, Settlement } from './deliveries.repository';
import { SettlementsService } from './settlements.service';

function settlement(event: string, status: Settlement['status'] = 'processed'): Settlement {
  const fixed = { bot_id: 'bot_1', type: 'text', replays: 0, reason: null, attempts: [], created_at: new Date(0) };
  return { ...fixed, event_id: event, status };
}

/** Outcomes whose statements end when the test says so. */
function held() {
  const statements: { settlements: Settlement[]; end: () => void; fail: (error: Error) => void }[] = [];
  const insertSettlements = (settlements: Settlement[]) =>
    new Promise<void>((resolve, reject) => statements.push({ settlements, end: resolve, fail: reject }));
  const service = new SettlementsService({ insertSettlements } as unknown as DeliveriesRepository);
  const settle = (event: string, status?: Settlement['status']) => service.settle(settlement(event, status));
  const written = () => statements.map(({ settlements }) => settlements.map(({ event_id }) => event_id));
  return { statements, settle, written };
}

const settled = () => new Promise(setImmediate);

it('writes the outcomes together that come while a statement runs, in their order', async () => {
  const { statements, settle, written } = held();
  const all = ['a', 'b', 'c'].map((event) => settle(event));

  statements[0]!.end();
  await settled();
  statements[1]!.end();

  await Promise.all(all);
  expect(written()).toEqual([['a'], ['b', 'c']]);
});

it('writes at most 100 outcomes in one statement', async () => {
  const { statements, settle } = held();
  const all = Array.from({ length: 102 }, (_entry, index) => settle(`${index}`));

  for (let statement = 0; statement < 3; statement += 1) {
    statements[statement]!.end();
    await settled();
  }

  await Promise.all(all);
  expect(statements.map(({ settlements }) => settlements.length)).toEqual([1, 100, 1]);
});

it('writes the last outcome of an event that has two in one statement', async () => {
  const { statements, settle } = held();
  const all = [settle('first'), settle('a', 'failed'), settle('b'), settle('a', 'processed')];

  statements[0]!.end();
  await settled();
  statements[1]!.end();

  await Promise.all(all);
  expect(statements[1]!.settlements).toEqual([settlement('a', 'processed'), settlement('b')]);
});

it('fails the outcomes of a failed statement, and writes those after it', async () => {
  const { statements, settle } = held();
  const outcomes = Promise.allSettled(['a', 'b', 'c'].map((event) => settle(event)));

  statements[0]!.fail(new Error('The database has gone.'));
  await settled();
  statements[1]!.end();

  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  const next = settle('d');
  statements[2]!.end();
  await next;
});
