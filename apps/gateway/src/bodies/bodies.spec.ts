import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { anyone } from '@parley/contracts/access';
import { operation } from '@parley/contracts/operation';
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

it('passes a short body with many values on in one buffer that can be transferred', async () => {
  const values = `[${'{},'.repeat(quickValues)}{}]`;
  const { stream, request } = incoming(values);
  const read = new BodiesService(new BodyMemoryLimiter(10)).read(request);
  stream.write(values.slice(0, 10));
  stream.end(values.slice(10));

  const [segment, ...others] = ((await read) as LargeBody).parts;

  expect(Buffer.from(segment!).toString()).toBe(values);
  expect(segment!.buffer.byteLength).toBe(values.length);
  expect(others).toEqual([]);
});

describe('large bodies of one tenant', () => {
  it('take no slot for clients that have gone during their authentication', async () => {
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
