import { httpRequest } from './load';
import { openPool } from './bare-sql';
import { openBot, type openEmbedded, poolSize } from './workbench';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;

/** Concurrent requests during setup. */
const concurrency = 8;

/** Bot with a chat user and conversations in which the user takes part. */
export interface Conversations {
  botId: string;
  userId: string;
  path: string;
  headers: Record<string, string>;
  userHeaders: Record<string, string>;
  ids: string[];
}

/** Limit of streams per user. */
const streamsOfUser = 20;

/** Users with access to the conversations; `listenerOf` returns the headers for a stream. */
export interface Listeners {
  listenerOf: (stream: number) => Record<string, string>;
}

/** Creates users for the streams and adds each to the conversations that its streams listen to. */
export async function openListeners(
  url: string,
  { path, userHeaders }: Conversations,
  ids: string[],
): Promise<Listeners> {
  const users: Record<string, string>[] = [];
  for (let first = 0; first < ids.length; first += streamsOfUser) {
    const { user, key } = await post<{ user: { id: string }; key: string }>(url, `${path}/users`);
    users.push({ 'x-user-key': key });
    for (const id of new Set(ids.slice(first, first + streamsOfUser)))
      await post(url, `${path}/conversations/${id}/participants`, userHeaders, { userId: user.id });
  }
  return { listenerOf: (stream) => users[Math.floor(stream / streamsOfUser)]! };
}

async function post<T>(url: string, path: string, more: Record<string, string> = {}, body: object = {}): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...more, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

export async function openConversations(platform: Platform, count: number): Promise<Conversations> {
  const { id: botId, headers, client } = await openBot(platform);
  const { bot } = await client.getBot({ id: botId });
  const path = `/chat/${Object.values(bot.integrations).find(({ name }) => name === 'chat')!.webhookId}`;
  const { user, key } = await post<{ user: { id: string }; key: string }>(platform.url, `${path}/users`);
  const userHeaders = { 'x-user-key': key };
  const ids: string[] = [];
  const worker = async () => {
    while (ids.length < count) {
      const { conversation } = await post<{ conversation: { id: string } }>(
        platform.url,
        `${path}/conversations`,
        userHeaders,
      );
      ids.push(conversation.id);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { botId, userId: user.id, path, headers, userHeaders, ids: ids.slice(0, count) };
}

/** Inserts messages, one second apart, directly into an empty conversation by SQL. */
export async function fillConversation(
  databaseUrl: string,
  { botId, userId }: Conversations,
  id: string,
  messages: number,
): Promise<void> {
  const pool = openPool({ databaseUrl, poolSize }, 'chat');
  try {
    await pool.query(
      `INSERT INTO message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, created_at, updated_at)
       SELECT $1, 'msg_' || lpad(number::text, 26, '0'), $2, CASE WHEN number % 2 = 0 THEN $1 ELSE $3 END, 'text',
         jsonb_build_object('text', 'This is what was said as number ' || number), '{}',
         CASE WHEN number % 2 = 0 THEN 'outgoing' ELSE 'incoming' END, at, at
       FROM generate_series(1, $4::int) number, LATERAL (SELECT now() - ($4 + 1 - number) * interval '1 s' AS at) clock`,
      [botId, id, userId, messages],
    );
    await pool.query(
      `UPDATE conversation_clock SET last_message_at = now() - interval '1 s', message_count = $3
       WHERE bot_id = $1 AND conversation_id = $2`,
      [botId, id, messages],
    );
    await pool.query('VACUUM ANALYZE message');
  } finally {
    await pool.end();
  }
}

/** Raw HTTP request that posts a message of the conversation's user by the chat endpoint. */
export function messageRequest(
  path: string,
  headers: Record<string, string>,
  conversationId: string,
  text: string,
): string {
  const body = JSON.stringify({ conversationId, payload: { type: 'text', text } });
  return httpRequest(`POST ${path}/messages`, headers, body);
}
