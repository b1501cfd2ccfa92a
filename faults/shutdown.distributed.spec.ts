import { clientOf } from '@parley/testing/api';
import { hasNatsServer } from '@parley/testing/nats-server';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { appNames, Fleet } from './fleet';
import { Load } from './load';

jest.setTimeout(120_000);
const suite = hasNatsServer() ? describe : describe.skip;

suite('a rolling restart of every app, two replicas each, at a steady load', () => {
  it('fails no request and loses nothing', async () => {
    const fleet = await Fleet.start({ replicas: 2, env: { SWEEP_INTERVAL_MS: '500' } });
    const ledger = new Ledger();
    const { bot } = await clientOf(fleet).createBot({});
    ledger.bot(bot.id);
    const load = new Load(fleet, ledger, bot.id, { requestsPerSecond: 50 });
    await load.start();

    for (const name of appNames) {
      for (const replica of fleet.replicas(name)) {
        const ms = await replica.end('SIGTERM');
        expect(ms).toBeLessThan(2_000);
        await replica.start();
        await Promise.all(fleet.balancers.map((balancer) => balancer.allReady()));
      }
    }
    const report = await load.stop();

    process.stderr.write(`${report.answered} requests answered, ${idleResets(fleet).length} idle connections reset
`);
    expect(report.failures).toEqual([]);
    expect(await new Checker(fleet, ledger).findings(20_000)).toEqual([]);
    await fleet.stop();
  });
});

function idleResets({ balancers }: Fleet) {
  return balancers.flatMap(({ idleResets: resets }) => resets);
}
