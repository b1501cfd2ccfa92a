import { waitFor } from '@parley/testing/wait-for';
import type { Pool } from 'pg';
import { messageOperations } from './answers';
import type { DeliveryRecording } from './bare-sql';
import { deploy } from './deployment';
import { silentCode } from './code-sources';
import type { Conversations } from './conversations';
import { ask } from './operations';
import type { Statement } from './postgres-tap';
import type { Tapped } from './tapped-platform';

/** Statements of a delivery in the order in which they begin. */
const names = [
  ...['move_events_chat', 'insert_ordered_works', 'claim_ordered_work', 'find_settled', 'findPendingEvent'],
  ...['findPartsOfEvent_conversation_id', 'insert_settlements', 'promote_next_work', 'move_events_runtime'],
  'settleWithoutEffects',
];

/** Deploys a bot that answers nothing, and records the SQL of the delivery of one message to it. */
export async function recordDelivery(
  { platform, tap }: Tapped,
  pool: Pool,
  scene: Conversations,
): Promise<DeliveryRecording> {
  await deploy(platform, pool, scene, { code: silentCode });
  const [say] = messageOperations(scene);
  const conversationId = scene.ids[0]!;
  const sayAndSettle = async () => {
    await ask(platform.url, say!, conversationId);
    await waitFor(async () => {
      const { rowCount } = await pool.query(
        `SELECT FROM event WHERE bot_id = $1 AND status = 'pending'
         UNION ALL SELECT FROM runtime.work WHERE tenant = $1 UNION ALL SELECT FROM work WHERE tenant = $1`,
        [scene.botId],
      );
      return rowCount === 0;
    });
  };
  // Fills the caches of the services.
  await sayAndSettle();
  tap.clear();
  await sayAndSettle();
  const only = (found: Statement[], name: string): Statement => {
    if (found.length === 1) return found[0]!;
    throw new Error(`The Postgres tap recorded ${name} ${found.length} times for one delivery.`);
  };
  const finished = tap.named('finish_work');
  const isDelivery = ({ schema }: Statement) => schema === 'runtime';
  const statements: Record<string, Statement> = {
    ...Object.fromEntries(names.map((name) => [name, only(tap.named(name), name)])),
    finish_delivery: only(finished.filter(isDelivery), 'finish_work'),
    finish_moved: finished.find((statement) => !isDelivery(statement))!,
  };
  const [, messageId, , , , eventId] = statements['findPartsOfEvent_conversation_id']!.values;
  const outboxId = statements['insert_settlements']!.values[1];
  return { statements, ids: { conversationId, eventId: eventId!, messageId: messageId!, outboxId: outboxId! } };
}
