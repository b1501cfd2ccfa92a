import { type Answer, json, LoopbackServer } from '@parley/testing/loopback-server';
import { patientFetch } from './checker/patient-fetch';

let server: LoopbackServer | undefined;

afterEach(() => server?.close());

/** What comes of asking a server that gives these answers one after the other, and how often it was asked. */
async function ask(...answers: Answer[]): Promise<{ status: number; times: number }> {
  const asked = await LoopbackServer.start((request, response) =>
    answers[asked.requests.length - 1]!(request, response),
  );
  server = asked;
  const { status } = await patientFetch(asked.url);
  return { status, times: asked.requests.length };
}

const comeAgain = json({}, 503, { 'retry-after': '0' });

describe('patientFetch', () => {
  it('asks again while it is told to come again', async () => {
    expect(await ask(comeAgain, comeAgain, json({}))).toEqual({ status: 200, times: 3 });
  });

  it.each([
    ['200', json({}), 200],
    ['404', json({}, 404), 404],
    ['500', json({}, 500, { 'retry-after': '0' }), 500],
    ['503 that says nothing of another time', json({}, 503), 503],
  ])('takes a %s as it is', async (_what, answer, status) => {
    expect(await ask(answer)).toEqual({ status, times: 1 });
  });

  it('gives up in the end', async () => {
    const always = Array<Answer>(31).fill(comeAgain);

    expect(await ask(...always)).toEqual({ status: 503, times: 31 });
  });
});
