import { connect, type JetStreamManager, nanos } from 'nats';

const stream = 'PARLEY';

export function storedEventIds(natsUrl: string): Promise<string[]> {
  return manage(natsUrl, async ({ streams }) => {
    const { state } = await streams.info(stream);
    const ids: string[] = [];
    for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
      const message = await streams.getMessage(stream, { seq });
      ids.push(message.header.get('Nats-Msg-Id'));
    }
    return ids;
  });
}

/** Sets the deduplication window of the stream: at least 100 ms. */
export function setDuplicateWindow(natsUrl: string, windowMs: number): Promise<void> {
  return manage(natsUrl, async ({ streams }) => {
    const { config } = await streams.info(stream);
    await streams.update(stream, { ...config, duplicate_window: nanos(windowMs) });
  });
}

async function manage<T>(natsUrl: string, work: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: natsUrl });
  try {
    return await work(await connection.jetstreamManager());
  } finally {
    await connection.close();
  }
}
