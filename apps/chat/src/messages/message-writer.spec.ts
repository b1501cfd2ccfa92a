import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Database, Transaction } from '@parley/persistence/database';
import type { Outbox } from '@parley/events/outbox';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import type { SignalsService } from '../signals/signals.service';
import { MessageWriterService } from './message-writer.service';
import type { NewDraft, NewMessagesRepository, WrittenMessage } from './new-messages.repository';

/** Statements that one process runs at a time: the messages after them share the next one. */
const statementsAtOnce = 3;

function draft(id: string, text = id): NewDraft {
  return { id, conversation_id: `conv_of_${id}`, user_id: 'user_1', type: 'text', payload: { text }, tags: {} };
}

interface Refusals {
  /** Failure of a statement with these messages. */
  fails?: (ids: string[]) => Error | undefined;
  /** Messages that statements skip, because a conversation or a user is not there. */
  skipped?: string[];
}

/** Writer whose statements wait until `open` is called. */
function heldWriter({ fails = () => undefined, skipped = [] }: Refusals = {}) {
  const statements: string[][] = [];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const writtenOf = (drafts: NewDraft[]) =>
    drafts.map(({ id }) => (skipped.includes(id) ? undefined : ({ id, signal: null } as WrittenMessage)));
  const insertInOneCommit = async (_botId: string, drafts: NewDraft[]) => {
    const ids = drafts.map(({ id }) => id);
    statements.push(ids);
    await gate;
    const failure = fails(ids);
    if (failure) throw failure;
    return writtenOf(drafts);
  };
  const messages = {
    insertInOneCommit,
    insertInTransaction: (_tx: Transaction, _botId: string, drafts: NewDraft[]) => Promise.resolve(writtenOf(drafts)),
    findObstacle: () => Promise.resolve('conversation'),
  };
  const tx = { afterCommit: () => undefined } as unknown as Transaction;
  const database = { transaction: (work: (given: Transaction) => Promise<unknown>) => work(tx) };
  const writer = new MessageWriterService(
    database as unknown as Database,
    messages as unknown as NewMessagesRepository,
    {} as SignalsService,
    {} as Outbox,
  );
  const write = (id: string, { botId = 'bot_1', text = id } = {}) => writer.write(botId, draft(id, text));
  const first = Array.from({ length: statementsAtOnce }, (_entry, index) => write(`first ${index}`));
  /** Statements after the first ones, which all tests hold. */
  const later = () => statements.slice(statementsAtOnce);
  const writeIn = (...ids: string[]) =>
    writer.writeIn(
      tx,
      'bot_1',
      ids.map((id) => draft(id)),
    );
  return { open, write, writeIn, first, later };
}

const named = (count: number) => Array.from({ length: count }, (_entry, index) => `m${index}`);

afterEach(realClock);

it('writes the messages of a failed batch one by one, so that only the bad one fails', async () => {
  const fails = (ids: string[]) => (ids.includes('bad') ? new Error('the statement failed') : undefined);
  const { open, write, first, later } = heldWriter({ fails });
  const outcomes = Promise.allSettled(['one', 'bad', 'two'].map((id) => write(id)));

  open();

  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  await Promise.all(first);
  expect(later()).toEqual([['one', 'bad', 'two'], ['one'], ['bad'], ['two']]);
});

it('refuses a message that has waited for 8 s with 503, and does not write it', async () => {
  fakeClock('Date');
  const { open, write, first, later } = heldWriter();
  const late = write('late');
  jest.setSystemTime(Date.now() + 1);
  const timely = write('timely');

  jest.setSystemTime(Date.now() + 7_999);
  open();

  await expect(late).rejects.toMatchObject({ code: 503, message: expect.stringContaining('was not written') });
  await expect(timely).resolves.toMatchObject({ id: 'timely' });
  await Promise.all(first);
  expect(later()).toEqual([['timely']]);
});

it('fails all messages of a statement whose commit is uncertain, repeats none, and writes the next', async () => {
  const uncertain = new ApiError('OperationTimeout', 'The change may have been committed.');
  let isGone = true;
  const { open, write, first, later } = heldWriter({ fails: () => (isGone ? uncertain : undefined) });
  const outcomes = Promise.allSettled([...first, write('one'), write('two')]);

  open();

  expect(await outcomes).toEqual(Array(statementsAtOnce + 2).fill({ status: 'rejected', reason: uncertain }));
  expect(later()).toEqual([['one', 'two']]);
  isGone = false;
  await expect(write('next')).resolves.toMatchObject({ id: 'next' });
});

it('rejects all waiting messages when the database has gone, so that a process can stop', async () => {
  const gone = unavailable('The database does not answer. Try again in a moment.');
  const { open, write, first } = heldWriter({ fails: () => gone });
  const outcomes = Promise.allSettled([...first, ...named(250).map((id) => write(id))]);

  open();

  expect(new Set((await outcomes).map(({ status }) => status))).toEqual(new Set(['rejected']));
});

it('returns its own error for a message that a statement skips, and the others as written', async () => {
  const { open, write, first } = heldWriter({ skipped: ['lost'] });
  const outcomes = Promise.allSettled(['one', 'lost', 'two'].map((id) => write(id)));

  open();

  expect(await outcomes).toMatchObject([
    { status: 'fulfilled', value: { id: 'one' } },
    { status: 'rejected', reason: { type: 'ReferenceNotFound' } },
    { status: 'fulfilled', value: { id: 'two' } },
  ]);
  await Promise.all(first);
});

it('writes at most 100 messages in one statement, in the order of their arrival', async () => {
  const { open, write, later } = heldWriter();
  const ids = named(101);
  const all = ids.map((id) => write(id));

  open();

  expect((await Promise.all(all)).map(({ id }) => id)).toEqual(ids);
  expect(later()).toEqual([ids.slice(0, 100), ids.slice(100)]);
});

it('writes at most 2 MB in one statement, and a larger message alone', async () => {
  const { open, write, later } = heldWriter();
  const sizes = { small: 1, large: 2_000_000, 'half a': 990_000, 'half b': 990_000, rest: 30_000 };
  const all = Object.entries(sizes).map(([id, size]) => write(id, { text: 'x'.repeat(size) }));

  open();

  await Promise.all(all);
  expect(later()).toEqual([['small'], ['large'], ['half a', 'half b'], ['rest']]);
});

it('lets bots take turns, a statement each', async () => {
  const { open, write, first, later } = heldWriter();
  const many = named(201).map((id) => write(id));
  const other = write('other', { botId: 'bot_2' });

  open();

  await Promise.all([...first, ...many, other]);
  expect(later().map((ids) => ids.length)).toEqual([100, 1, 100, 1]);
  expect(later()[1]).toEqual(['other']);
});

it.each([
  ['5,000 messages', 5_000, 1],
  ['64 MB', 32, 1_999_000],
])('refuses a message with 503 while %s wait, and takes it after them', async (_what, count, size) => {
  const { open, write } = heldWriter();
  const text = 'x'.repeat(size);
  const waiting = named(count).map((id) => write(id, { text }));

  await expect(write('beyond', { text })).rejects.toMatchObject({ code: 503 });

  open();
  await Promise.all(waiting);
  await expect(write('later', { text })).resolves.toMatchObject({ id: 'later' });
});

it.each([[['lost', 'two']], [['one', 'lost']]])(
  'refuses all messages of a transaction for one that cannot be written, which it names: %j',
  async (ids) => {
    const { open, writeIn, first } = heldWriter({ skipped: ['lost'] });
    open();
    await Promise.all(first);

    await expect(writeIn(...ids)).rejects.toMatchObject({
      type: 'ReferenceNotFound',
      message: 'conversationId "conv_of_lost" not found.',
    });
  },
);
