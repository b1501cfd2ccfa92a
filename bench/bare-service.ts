import { connect, type NatsConnection } from 'nats';
import { type BareOptions, BareSql, openPool } from './bare-sql';

// Baseline of the distributed mode: a NATS subscriber that runs the SQL.

async function main(): Promise<void> {
  const options = JSON.parse(process.env['BARE_OPTIONS'] ?? '') as BareOptions;
  const pool = openPool(options);
  const nats = await connect({ servers: process.env['NATS_URL'], noAsyncTraces: true });
  serve(nats, 'bare.read', new BareSql(pool, options.recordings.read));
  serve(nats, 'bare.write', new BareSql(pool, options.recordings.write));
  await nats.flush();
  process.stdout.write('Listening\n');
}

function serve(nats: NatsConnection, subject: string, sql: BareSql): void {
  nats.subscribe(subject, {
    queue: 'bare',
    callback: (_error, message) => {
      const { given } = JSON.parse(message.string()) as { given: string };
      // Without an answer the gateway's request times out and counts as failed.
      void sql.run(given).then((answer) => message.respond(JSON.stringify(answer)));
    },
  });
}

void main();
