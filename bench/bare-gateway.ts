import fastify, { type FastifyReply } from 'fastify';
import { connect } from 'nats';

// Baseline of the distributed mode: HTTP in, one NATS request, HTTP out. bare-service.ts answers.

async function main(): Promise<void> {
  const nats = await connect({ servers: process.env['NATS_URL'], noAsyncTraces: true });
  const app = fastify();
  const ask = async (reply: FastifyReply, subject: string, question: object) => {
    const { data } = await nats.request(subject, JSON.stringify(question), { timeout: 10_000 });
    return reply.type('application/json; charset=utf-8').send(Buffer.from(data));
  };
  app.get<{ Params: { id: string } }>('/v1/files/:id', ({ params }, reply) =>
    ask(reply, 'bare.read', { given: params.id }),
  );
  app.put<{ Body: { key: string } }>('/v1/files', ({ body }, reply) =>
    ask(reply, 'bare.write', { ...body, given: body.key }),
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  process.stdout.write(`Listening at ${url}\n`);
}

void main();
