import { readFileSync } from 'node:fs';
import fastify from 'fastify';
import { type BareOptions, BareSql, openPool } from './bare-sql';

// The least that could answer the same requests for rows: Fastify and `pg`. No credentials, no checks, no log.

const options = JSON.parse(readFileSync(process.env['BARE_OPTIONS_FILE'] ?? '', 'utf8')) as BareOptions<string>;
const pool = openPool(options, 'tables');

const app = fastify({ bodyLimit: 16_000_000 });
for (const [operation, recording] of Object.entries(options.recordings)) {
  const sql = new BareSql(pool, recording);
  app.post<{ Headers: { given: string } }>(`/${operation}`, ({ headers }) => sql.run(headers.given));
}
void app.listen({ host: '127.0.0.1', port: 0 }).then((url) => process.stdout.write(`Listening at ${url}\n`));
