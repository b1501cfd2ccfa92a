import { connect, type JetStreamManager } from 'nats';

const stream = 'PARLEY';

/** Deletes the stream of events with everything in it, as an operator may by mistake. */
export function deleteStream(natsUrl: string): Promise<void> {
  return manage(natsUrl, async ({ streams }) => void (await streams.delete(stream)));
}

/** Deletes every consumer of events, and with them what each has taken already. */
export function deleteConsumers(natsUrl: string): Promise<void> {
  return manage(natsUrl, async ({ consumers }) => {
    for await (const { name } of consumers.list(stream)) await consumers.delete(stream, name);
  });
}

async function manage(natsUrl: string, work: (manager: JetStreamManager) => Promise<void>): Promise<void> {
  const connection = await connect({ servers: natsUrl });
  try {
    await work(await connection.jetstreamManager());
  } finally {
    await connection.close();
  }
}
