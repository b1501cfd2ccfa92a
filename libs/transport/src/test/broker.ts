import type { JetStreamManager } from 'nats';
import { NatsLink } from '../nats-connection';
import { seedVariable } from '../permissions';
import { silent } from './probe';

const stream = 'PARLEY';

/** NATS server, with credentials in `access` where it requires authentication. */
interface Broker {
  url: string;
  access: Record<string, string>;
}

/** Deletes the event stream with all messages, as an operator might by mistake. */
export function deleteStream(broker: Broker): Promise<void> {
  return manage(broker, async ({ streams }) => void (await streams.delete(stream)));
}

export function deleteConsumers(broker: Broker): Promise<void> {
  return manage(broker, async ({ consumers }) => {
    for await (const { name } of consumers.list(stream)) await consumers.delete(stream, name);
  });
}

async function manage({ url, access }: Broker, work: (manager: JetStreamManager) => Promise<void>): Promise<void> {
  const credentials = { seed: access[seedVariable('operator')], caFile: access['NATS_CA_FILE'] };
  const link = await NatsLink.open(url, 'operator', silent, credentials);
  try {
    await work(await link.connection.jetstreamManager());
  } finally {
    await link.close();
  }
}
