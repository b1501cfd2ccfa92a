import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { anyone } from '@parley/contracts/access';
import { defaultBodyValues, operation } from '@parley/contracts/operation';
import { BodiesService } from './bodies.service';
import { BodyMemoryLimiter } from './body-memory.limiter';
import { largeBytes, LargeBody, quickValues } from './large-body';

const large = operation({
  subject: 'probe.large',
  summary: 'A probe.',
  access: anyone,
  input: Object,
  output: Object,
  bodyLimitBytes: 10 * largeBytes,
});
const text = JSON.stringify({ text: 'x'.repeat(largeBytes) });

function incoming(body = text) {
  const stream = new PassThrough();
  const raw = Object.assign(stream, { headers: { 'content-length': String(body.length) } });
  const sender = { tenant: 'workspace-1', isAuthenticated: true };
  return { stream, request: { raw: raw as unknown as IncomingMessage, operation: large, sender } };
}

it('passes a short body with many values on unparsed', async () => {
  const values = `[${'{},'.repeat(quickValues)}{}]`;
  const { stream, request } = incoming(values);
  const read = new BodiesService(new BodyMemoryLimiter(10)).read(request);
  stream.write(values.slice(0, 10));
  stream.end(values.slice(10));

  const body = (await read) as LargeBody;

  expect(Buffer.concat(body.parts).toString()).toBe(values);
});

const tooMany = {
  type: 'PayloadTooLarge',
  message: expect.stringMatching(/takes at most 100000 JSON values.*, and it has at least 10\d{4}\./) as string,
};

it('refuses a short body with too many values before a child process parses it', async () => {
  const { stream, request } = incoming(`[${'{},'.repeat(defaultBodyValues)}{}]`);
  const read = new BodiesService(new BodyMemoryLimiter(10)).read(request);
  stream.end(`[${'{},'.repeat(defaultBodyValues)}{}]`);

  await expect(read).rejects.toMatchObject(tooMany);
});

it('refuses a large body with too many values before all of it has arrived', async () => {
  const { stream, request } = incoming();
  const read = new BodiesService(new BodyMemoryLimiter(10)).read(request);
  const refused = expect(read).rejects.toMatchObject(tooMany);

  stream.write(`{"text":"${'x'.repeat(largeBytes)}","list":[`);
  stream.write('{},'.repeat(defaultBodyValues + 10));

  await refused;
});

describe('large bodies of one tenant', () => {
  it('takes no slot for large bodies of clients that disconnected during their authentication', async () => {
    const bodies = new BodiesService(new BodyMemoryLimiter(10));
    for (let count = 0; count < 3; count += 1) {
      const { stream, request } = incoming();
      stream.destroy();
      await expect(bodies.read(request)).rejects.toMatchObject({ type: 'InvalidPayload' });
    }

    const { stream, request } = incoming();
    const read = bodies.read(request);
    stream.end(text);

    await expect(read).resolves.toBeInstanceOf(LargeBody);
  });
});
