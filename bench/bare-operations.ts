import { readFileSync } from 'node:fs';
import fastify from 'fastify';
import { type BareOperations, BareSql, openPool } from './bare-sql';

// Baseline: the minimal server for the same requests, Fastify and `pg` without credentials, checks and logs.

const options = JSON.parse(readFileSync(process.env['BARE_OPTIONS_FILE'] ?? '', 'utf8')) as BareOperations;
const pool = openPool(options, options.schema);

const app = fastify({ bodyLimit: 16_000_000 });
for (const [operation, recording] of Object.entries(options.recordings)) {
  const sql = new BareSql(pool, recording);
  app.route<{ Headers: { given: string } }>({
    method: ['GET', 'POST'],
    url: `/${operation}`,
    handler: ({ headers }) => sql.run(headers.given),
  });
}
void app.listen({ host: '127.0.0.1', port: 0 }).then((url) => process.stdout.write(`Listening at ${url}\n`));
