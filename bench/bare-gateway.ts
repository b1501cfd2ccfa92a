import fastify, { type FastifyReply } from 'fastify';
import { connect } from 'nats';

// Baseline of the distributed mode: HTTP in, one NATS request, HTTP out. bare-service.ts answers.

async function main(): Promise<void> {
  const nats = await connect({ servers: process.env['NATS_URL'], noAsyncTraces: true });
  const app = fastify();
  const forward = async (reply: FastifyReply, subject: string, input: object) => {
    const { data } = await nats.request(subject, JSON.stringify(input), { timeout: 10_000 });
    return reply.type('application/json; charset=utf-8').send(Buffer.from(data));
  };
  app.get<{ Params: { id: string } }>('/v1/files/:id', ({ params }, reply) =>
    forward(reply, 'bare.read', { given: params.id }),
  );
  app.put<{ Body: { key: string } }>('/v1/files', ({ body }, reply) =>
    forward(reply, 'bare.write', { ...body, given: body.key }),
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  process.stdout.write(`Listening at ${url}\n`);
}

void main();
