import { JsonLines } from '@parley/background/json-lines';
import { waitFor } from '@parley/testing/wait-for';
import { InProcessDriver, InProcessHub } from './in-process-driver';
import { ParleyClient } from './parley-client';
import { durableConfig } from './streams';
import { answerWith, caller, probe, silent } from './test/probe';

/** Lines of this many bytes. */
function lines(bytes: number): JsonLines {
  const around = Buffer.byteLength('[[],{"text":""}]\n');
  return new JsonLines([Buffer.from(`[[],{"text":"${'x'.repeat(bytes - around)}"}]\n`)]);
}

it.each([
  [1_000_000, 3],
  [1_000_001, 2],
])('processes bodies of %d bytes of one workspace %d at a time, of three', async (bytes, atOnce) => {
  const driver = new InProcessDriver(new InProcessHub(), 10_000_000, silent);
  const asked = probe();
  const ends: (() => void)[] = [];
  await answerWith(driver, asked, () => new Promise((resolve) => ends.push(() => resolve({}))));
  const bus = new ParleyClient(driver);

  const answers = [1, 2, 3].map(() => bus.call(asked, caller, lines(bytes)));
  await waitFor(() => ends.length >= atOnce);
  const begun = ends.length;

  await waitFor(() => {
    ends.forEach((end) => end());
    return ends.length === 3;
  });
  await Promise.all(answers);
  expect(begun).toBe(atOnce);
});

it('delivers an event to another process 15 s after the last heartbeat', () => {
  expect(durableConfig({ name: 'probe', subject: 'probe' }).ack_wait).toBe(15_000_000_000);
});
