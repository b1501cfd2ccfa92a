import { operatorToken } from '@parley/secrets/token';
import { hasNatsServer } from '@parley/testing/nats-server';
import { startDistributed } from '@parley/testing/running-platform';
import { describeFuzz } from './test/fuzz.behaviour';

// By hand: it finds hardly anything that the one process does not have as well.
const isWanted = process.env['FUZZ_CASES'] !== undefined;
if (!isWanted) process.stderr.write('SKIPPED: generated input over NATS. Set FUZZ_CASES to run it.\n');
const suite = isWanted && hasNatsServer() ? describe : describe.skip;

suite('distributed', () => {
  describeFuzz('over NATS', async () => {
    const platform = await startDistributed();
    return { ...platform, operatorToken: operatorToken(platform.secretKey) };
  });
});
