import { startDistributed } from '@parley/testing/running-platform';
import type { EmptyDatabase } from '@parley/testing/test-database';
import { type Conversations, fillConversation, openConversations } from './conversations';
import {
  type Candidate,
  compareOperation,
  httpLoad,
  newDatabase,
  type Operation,
  productSide,
  type Recordings,
  recordOperations,
  startBareOperations,
} from './operations';
import type { Result } from './result';
import { compareSpeed } from './rounds';
import { newLogFile, openEmbedded, productEnv, type Workbench } from './workbench';
import { onTappedPlatform } from './tapped-platform';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;

const conversationCount = 1_000;
const filledMessages = 1_000_000;
const longestRound = 1;
const text = 'A message that somebody writes, in a few short words.';

const togetherNote =
  'Each message of the baseline has its own commit; the product writes waiting messages in one statement.';
const lockNote = `${togetherNote} In one conversation the baseline's messages also wait for each other's lock.`;

/** Operations of the benchmark. The last conversation of the scene has many messages. */
function operationsOf({ options: { connections } }: Workbench, scene: Conversations): Operation[] {
  const { userId, path, headers, userHeaders } = scene;
  const ids = scene.ids.slice(0, -1);
  const large = scene.ids.at(-1)!;
  const create = { line: () => 'POST /v1/chat/messages', headers, connections };
  const message = (conversationId: string) => ({ userId, conversationId, type: 'text', payload: { text }, tags: {} });
  return [
    {
      ...create,
      name: 'create',
      title: `POST /v1/chat/messages, a user's message in one of ${conversationCount.toLocaleString('en-US')} conversations`,
      given: (index) => ids[index % ids.length]!,
      body: message,
    },
    {
      name: 'say',
      title: `POST {chat}/messages, a user's message by the chat endpoint`,
      line: () => `POST ${path}/messages`,
      headers: userHeaders,
      given: (index) => ids[index % ids.length]!,
      body: (conversationId) => ({ conversationId, payload: { type: 'text', text } }),
      connections,
    },
    {
      ...create,
      name: 'create-in-one',
      title: 'POST /v1/chat/messages, all in one conversation',
      given: () => ids[0]!,
      body: message,
    },
    {
      name: 'list',
      title: `GET /v1/chat/messages?conversationId={id}, the latest 20 of ${filledMessages.toLocaleString('en-US')}`,
      line: (conversationId) => `GET /v1/chat/messages?conversationId=${conversationId}`,
      headers,
      given: () => large,
      connections,
    },
  ];
}

const notes: Record<string, string[]> = { create: [togetherNote], say: [togetherNote], 'create-in-one': [lockNote] };

/** Messages in and out beside Fastify and `pg` with the same statements. */
export function benchChatEmbedded(bench: Workbench): Promise<Result[]> {
  return benchChat(bench, 'Embedded', 0.6, (env) => openEmbedded(bench, env));
}

export function benchChatDistributed(bench: Workbench): Promise<Result[]> {
  return benchChat(bench, 'Distributed', undefined, async (env) =>
    bench.session.keep(await startDistributed({ env: { ...productEnv(bench), ...env }, logFile: newLogFile(bench) })),
  );
}

async function benchChat(
  bench: Workbench,
  mode: 'Embedded' | 'Distributed',
  atLeast: number | undefined,
  start: (env: Record<string, string>) => Promise<Platform & { nats?: { pid: number } }>,
): Promise<Result[]> {
  const { database, recordings, operations } = await record(bench);
  const product = await startProduct(bench, start);
  const options = { databaseUrl: database.url, schema: 'chat', recordings };
  const bare = await startBareOperations(bench, options, operations);

  const results: Result[] = [];
  for (const operation of operations) {
    const aim = { name: `${mode.toLowerCase()} / bare`, ...(operation.name === 'list' ? {} : { atLeast }) };
    results.push(
      await compareOperation(bench, {
        mode,
        operation,
        sides: [product, bare],
        aims: (of) => compareSpeed(aim, of(product), of(bare)),
        notes: notes[operation.name],
        seconds: Math.min(longestRound, bench.options.seconds),
      }),
    );
  }
  return results;
}

async function startProduct(
  bench: Workbench,
  start: (env: Record<string, string>) => Promise<Platform & { nats?: { pid: number } }>,
): Promise<Candidate> {
  const database = await newDatabase(bench);
  const platform = await start({ DATABASE_URL: database.url });
  const scene = await openScene(platform, database);
  return { ...productSide(bench, 'chat', platform), run: httpLoad(platform.url, operationsOf(bench, scene)) };
}

async function openScene(platform: Platform, { url }: EmptyDatabase): Promise<Conversations> {
  const scene = await openConversations(platform, conversationCount + 1);
  await fillConversation(url, scene, scene.ids.at(-1)!, filledMessages);
  return scene;
}

async function record(
  bench: Workbench,
): Promise<{ database: EmptyDatabase; recordings: Recordings; operations: Operation[] }> {
  const database = await newDatabase(bench);
  return onTappedPlatform(bench, database.url, async ({ platform, tap }) => {
    const operations = operationsOf(bench, await openScene(platform, database));
    return { database, operations, recordings: await recordOperations(tap, platform.url, operations) };
  });
}
