import type { Database } from '@parley/persistence/database';
import type { Outbox } from '@parley/events/outbox';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import type { SignalsService } from '../signals/signals.service';
import { MessageWriterService } from './message-writer.service';
import type { NewDraft, NewMessagesRepository, WrittenMessage } from './new-messages.repository';

/** Statements that one process runs at a time: the messages after them share the next one. */
const statementsAtOnce = 3;

function draft(id: string): NewDraft {
  return { id, conversation_id: 'conv_1', user_id: 'user_1', type: 'text', payload: { text: id }, tags: {} };
}

/** Writer whose statements wait until `open` is called; a statement with the message `bad` fails. */
function heldWriter() {
  const statements: string[][] = [];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const insertInOneCommit = async (_botId: string, drafts: NewDraft[]) => {
    statements.push(drafts.map(({ id }) => id));
    await gate;
    if (drafts.some(({ id }) => id === 'bad')) throw new Error('the statement failed');
    return drafts.map(({ id }) => ({ id, signal: null }) as WrittenMessage);
  };
  const messages = { insertInOneCommit } as unknown as NewMessagesRepository;
  const writer = new MessageWriterService({} as Database, messages, {} as SignalsService, {} as Outbox);
  const write = (id: string) => writer.write('bot_1', draft(id));
  const first = Array.from({ length: statementsAtOnce }, (_entry, index) => write(`first ${index}`));
  return { statements, open, write, first };
}

afterEach(realClock);

it('writes the messages of a failed batch one by one, so that only the bad one fails', async () => {
  const { statements, open, write, first } = heldWriter();
  const outcomes = Promise.allSettled(['one', 'bad', 'two'].map(write));

  open();

  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  await Promise.all(first);
  expect(statements.slice(statementsAtOnce)).toEqual([['one', 'bad', 'two'], ['one'], ['bad'], ['two']]);
});

it('refuses a message that has waited for 8 s with 503, and does not write it', async () => {
  fakeClock('Date');
  const { statements, open, write, first } = heldWriter();
  const late = write('late');
  jest.setSystemTime(Date.now() + 1);
  const timely = write('timely');

  jest.setSystemTime(Date.now() + 7_999);
  open();

  await expect(late).rejects.toMatchObject({ code: 503, message: expect.stringContaining('was not written') });
  await expect(timely).resolves.toMatchObject({ id: 'timely' });
  await Promise.all(first);
  expect(statements.slice(statementsAtOnce)).toEqual([['timely']]);
});
