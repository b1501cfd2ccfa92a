import { connect, headers } from 'nats';

const bodies = ['', 'not json', 'null', '[]', '{"a":', '\u0000\uffff', '"text"', '{}', '{}\n', 'null\n{}', '\n\n'];

/** Sends malformed messages to each subject. Returns how many requests got an answer. */
export async function sendGarbage(natsUrl: string, requests: string[], others: string[]): Promise<number> {
  const connection = await connect({ servers: natsUrl });
  const forged = headers();
  forged.set('parley-payload', 'no-such-payload');
  try {
    for (const subject of others) {
      for (const body of bodies) connection.publish(subject, body, { headers: forged });
    }
    const answers = await Promise.all(
      requests.flatMap((subject) => [
        connection.request(subject, 'forged', { headers: forged, timeout: 15_000 }),
        ...bodies.map((body) => connection.request(subject, body, { timeout: 15_000 })),
      ]),
    );
    return answers.length;
  } finally {
    await connection.close();
  }
}

export const garbagePerSubject = bodies.length + 1;
