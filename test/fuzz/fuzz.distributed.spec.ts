import { operatorToken } from '@parley/secrets/token';
import { hasNatsServer } from '@parley/testing/nats-server';
import { startDistributed } from '@parley/testing/running-platform';
import { describeFuzz } from './fuzz.behaviour';

// Manual runs only: over NATS it finds hardly anything beyond the run in one process.
const isWanted = process.env['FUZZ_CASES'] !== undefined;
if (!isWanted) process.stderr.write('SKIPPED: fuzz tests over NATS. Set FUZZ_CASES to run them.\n');
const suite = isWanted && hasNatsServer() ? describe : describe.skip;

suite('distributed', () => {
  describeFuzz('over NATS', async () => {
    const platform = await startDistributed();
    return { ...platform, operatorToken: operatorToken(platform.secretKey) };
  });
});
