import fastify from 'fastify';
import { connect } from 'nats';

// The floor of the distributed mode: HTTP in, one NATS request, HTTP out. bare-service.ts answers.

async function main(): Promise<void> {
  const nats = await connect({ servers: process.env['NATS_URL'], noAsyncTraces: true });
  const app = fastify();
  const ask = async (subject: string, question: object) => {
    const answer = await nats.request(subject, JSON.stringify(question), { timeout: 10_000 });
    return Buffer.from(answer.data);
  };
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.type('application/json; charset=utf-8');
    done(null, payload);
  });
  app.get<{ Params: { id: string } }>('/v1/files/:id', ({ params }) => ask('bare.read', { given: params.id }));
  app.put<{ Body: { key: string } }>('/v1/files', ({ body }) => ask('bare.write', { ...body, given: body.key }));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  process.stdout.write(`Listening at ${url}\n`);
}

void main();
