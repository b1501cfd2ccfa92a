import fastify from 'fastify';
import { type BareOptions, BareSql, openPool } from './bare-sql';

// Baseline: the minimal server for the same requests, Fastify and `pg` without credentials, checks and logs.

const options = JSON.parse(process.env['BARE_OPTIONS'] ?? '') as BareOptions;
const pool = openPool(options);
const read = new BareSql(pool, options.recordings.read);
const write = new BareSql(pool, options.recordings.write);

const app = fastify();
app.get<{ Params: { id: string } }>('/v1/files/:id', ({ params }) => read.run(params.id));
app.put<{ Body: { key: string } }>('/v1/files', ({ body }) => write.run(body.key));
void app.listen({ host: '127.0.0.1', port: 0 }).then((url) => process.stdout.write(`Listening at ${url}\n`));
