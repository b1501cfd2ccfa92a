import type { Pool } from 'pg';
import { type Candidate, conversationCount, messageOperations } from './answers';
import type { DeliveryRecording } from './bare-sql';
import { type Conversations, openConversations } from './conversations';
import { recordDelivery } from './bare-delivery';
import { type Recordings, recordOperations, startBare } from './operations';
import type { Workbench } from './workbench';
import type { Tapped } from './tapped-platform';

interface AnswerRecording {
  scene: Conversations;
  recordings: Recordings;
  delivery?: DeliveryRecording;
}

/** SQL of a round trip with the product's queue, and of one that calls the bot at once. */
export type AnswerRecordings = Record<'queued' | 'direct', AnswerRecording>;

/** Each baseline has a bot of its own; chat announces only the events of the first. */
export async function recordAnswers({ platform, tap }: Tapped, pool: Pool): Promise<AnswerRecordings> {
  const record = async () => {
    const scene = await openConversations(platform, conversationCount);
    return { scene, recordings: await recordOperations(tap, platform.url, messageOperations(scene)) };
  };
  const [queued, direct] = [await record(), await record()];
  return { queued: { ...queued, delivery: await recordDelivery({ platform, tap }, pool, queued.scene) }, direct };
}

/** The baselines: with the same SQL, and without the queue. */
export async function startBareAnswers(
  bench: Workbench,
  databaseUrl: string,
  { queued, direct }: AnswerRecordings,
  bot: { url: string } | { bundle: string },
): Promise<[Candidate, Candidate]> {
  const start = async (name: string, { scene, ...recording }: AnswerRecording): Promise<Candidate> => {
    const options = { databaseUrl, schema: 'chat', ...recording, bot: { id: scene.botId, ...bot } };
    return { ...(await startBare(bench, 'bare-bots', options)), name, scene: { ...scene, path: '', userHeaders: {} } };
  };
  return [await start('bare, the same SQL', queued), await start('bare, without a queue', direct)];
}
