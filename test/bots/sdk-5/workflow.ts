import { Bot } from 'botpress-sdk-5';
import { recorded } from '../effects';

const bot = new Bot({ actions: {}, plugins: {} });
type WorkflowHandler = Parameters<typeof bot.on.workflowStart>[1];
type WorkflowCall = Parameters<WorkflowHandler>[0];

/** Commands are messages with a name and a number: turns of `start` and `rebind`, milliseconds of the others. */
bot.on.message('*', async ({ client, event, message, workflows }) => {
  const { conversationId } = message;
  const text = String(message.payload.text);
  await recorded({ eventId: event.id, type: event.type, conversationId, text }, async () => {
    const [command, value] = text.split(' ');
    const input = { value: Number(value) };
    if (command === 'start') await workflows.counting!.startNewInstance({ conversationId, input });
    if (command === 'rebind') await workflows.rebinding!.startNewInstance({ conversationId, input });
    if (command === 'sleep') await workflows.sleeping!.startNewInstance({ conversationId, input });
    if (command === 'parent') await workflows.parent!.startNewInstance({ conversationId, input });
    if (command === 'timeout') {
      const timeoutAt = new Date(Date.now() + input.value).toISOString();
      await client.createWorkflow({ name: 'impatient', status: 'pending', conversationId, input, timeoutAt });
    }
  });
});

bot.on.event('wake', ({ event: { id, type, conversationId } }) => recorded({ eventId: id, type, conversationId }));

/** Counts in its output, with the methods of the SDK only: continuations do not name their event. */
on('counting', async (call) => {
  const { workflow } = call;
  await workflow.acknowledgeStartOfProcessing();
  const turns = turnsOf(workflow) + 1;
  if (turns <= Number(workflow.input.value)) {
    await workflow.update({ output: { turns } });
    return;
  }
  await workflow.setCompleted({ output: { turns } });
  await say(call, `counted to ${turns}`);
});

/** Counts as well, and names the event of each turn. */
on('rebinding', async (call) => {
  const { client, event, workflow } = call;
  const turns = turnsOf(workflow) + 1;
  if (turns <= Number(workflow.input.value)) {
    await client.updateWorkflow({ id: workflow.id, status: 'in_progress', eventId: event.id, output: { turns } });
    return;
  }
  await client.updateWorkflow({ id: workflow.id, status: 'completed', output: { turns } });
  await say(call, `counted to ${turns}`);
});

/** Is woken by an event of its own. */
on('sleeping', async (call) => {
  const { client, event, workflow } = call;
  if (event.payload.type === 'workflow_started') {
    await workflow.acknowledgeStartOfProcessing();
    const schedule = { delay: Number(workflow.input.value) };
    await client._inner.createEvent({ type: 'wake', payload: {}, workflowId: workflow.id, schedule });
    await client.updateWorkflow({ id: workflow.id, status: 'listening' });
    return;
  }
  await workflow.setCompleted();
  await say(call, 'awake');
});

/** Waits for its child. */
on('parent', async (call) => {
  const { client, event, workflow } = call;
  if (event.payload.type === 'workflow_started') {
    const { id: parentWorkflowId, conversationId, input } = workflow;
    await workflow.acknowledgeStartOfProcessing();
    await client.createWorkflow({ name: 'child', status: 'pending', parentWorkflowId, conversationId, input });
    await client.updateWorkflow({ id: workflow.id, status: 'listening' });
    return;
  }
  await workflow.setCompleted();
  await say(call, 'child finished');
});

on('child', async ({ workflow }) => {
  await workflow.acknowledgeStartOfProcessing();
  await workflow.setCompleted({ output: { grown: true } });
});

/** Never ends by itself. */
on('impatient', async (call) => {
  const { client, event, workflow } = call;
  if (event.payload.type === 'workflow_timedout') return say(call, 'timed out');
  await client.updateWorkflow({ id: workflow.id, status: 'listening' });
});

/** The type of an effect is the workflow's name and the update. */
function on(name: string, work: WorkflowHandler) {
  const handler: WorkflowHandler = (call) => {
    const { event, workflow } = call;
    const { conversationId, output } = workflow;
    const type = `${name} ${event.payload.type}`;
    return recorded({ eventId: event.id, type, conversationId, text: JSON.stringify(output) }, () => work(call));
  };
  bot.on.workflowStart(name, handler);
  bot.on.workflowContinue(name, handler);
  bot.on.workflowTimeout(name, handler);
}

function turnsOf({ output }: WorkflowCall['workflow']): number {
  return Number(output.turns ?? 0);
}

async function say({ client, ctx, workflow }: WorkflowCall, text: string): Promise<void> {
  const { conversationId } = workflow;
  if (!conversationId) return;
  await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload: { text } });
}

export default bot;
