import { Bot } from 'botpress-sdk-5';
import { recorded } from '../effects';

interface Recomputation {
  requests: { row: { id: number; price: number }; columnsToRecompute: string[] }[];
}

/** Constant of the bundle, which the code of a column uses. */
const factor = 2;

const bot = new Bot({
  actions: {
    tablesRecomputeRows: ({ input }) => {
      const rows = (input as unknown as Recomputation).requests.map(({ row, columnsToRecompute }) => ({
        id: row.id,
        ...Object.fromEntries(
          columnsToRecompute.map((name) => [name, { status: 'computed', value: row.price * factor }]),
        ),
      }));
      return Promise.resolve({ isFinished: true, rows });
    },
    add: ({ input }) => {
      const { a, b } = input as { a: number; b: number };
      return Promise.resolve({ sum: a + b });
    },
  },
  plugins: {},
});

bot.on.message('*', async ({ client, ctx, event, message }) => {
  const { conversationId } = message;
  const text = String(message.payload.text);
  await recorded({ eventId: event.id, type: event.type, conversationId, text }, async () => {
    const [a, b] = text.split(' ').map(Number);
    const { output } = await client.callAction({ type: 'add', input: { a, b } });
    const payload = { text: `sum: ${output['sum']}` };
    await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload });
  });
});

bot.on.workflowStart('rating', async ({ workflow }) => {
  await workflow.acknowledgeStartOfProcessing();
  await workflow.setCompleted({ output: { value: 5 } });
});

export default bot;
