import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as ChatClient } from '@botpress/chat';
import { Client } from '@botpress/client';
import { readKeptFile } from './kept-file';
import { CommandFailed, endWithReader } from './output';

/** Time for the answers to the last messages. */
const patienceMs = 30_000;
const lookMs = 50;

interface Credentials {
  url: string;
  workspaceId: string;
  token: string;
}

/** Talks to a bot through the public chat client: each line of the input is a message, and each answer is printed. */
async function chat([botId]: string[]): Promise<void> {
  const credentials = JSON.parse(
    readKeptFile('credentials.json', 'set PARLEY_DATA_DIR to its data folder'),
  ) as Credentials;
  const { id, name, chatUrl } = await findBot(credentials, botId);
  const user = await ChatClient.connect({ apiUrl: chatUrl });
  const { conversation } = await user.createConversation({});
  const listener = await user.listenConversation({ id: conversation.id });
  let unanswered = 0;
  listener.on('message_created', ({ userId, payload }) => {
    if (userId === user.user.id) return;
    unanswered = Math.max(0, unanswered - 1);
    process.stdout.write(`${name}: ${'text' in payload ? String(payload.text) : JSON.stringify(payload)}\n`);
  });

  process.stdout.write(`Connected to ${name}. Type a message and press Enter; Ctrl-D ends.\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue;
    unanswered += 1;
    await user.createMessage({ conversationId: conversation.id, payload: { type: 'text', text: line } });
  }
  const endsAt = Date.now() + patienceMs;
  while (unanswered > 0 && Date.now() < endsAt) await sleep(lookMs);
  await listener.disconnect();
  if (unanswered > 0)
    throw new CommandFailed(
      `No answer within ${patienceMs / 1000} s. Look at its deliveries: npm run parley -- deliveries list ${id}`,
    );
}

/** Bot with this id; without one, the bot that was changed last. */
async function findBot({ url, workspaceId, token }: Credentials, botId?: string) {
  const client = new Client({ apiUrl: url, workspaceId, token });
  const [latest] = (await client.listBots({ sortField: 'updatedAt', sortDirection: 'desc', pageSize: 1 })).bots;
  const id = botId ?? latest?.id;
  if (id === undefined) throw new CommandFailed('The workspace has no bot: deploy one first, for example by `bp dev`.');
  const { bot } = await client.getBot({ id });
  const installed = Object.values(bot.integrations).find((integration) => integration.name === 'chat');
  if (!installed) throw new CommandFailed(`The bot ${bot.name} has no chat integration: add chat to it and deploy it.`);
  return { id, name: bot.name, chatUrl: installed.webhookUrl };
}

endWithReader();
chat(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
