// Needs a former release that `npm ci && npm run build` has built, in the folder that FORMER_RELEASE names.
import { setInterval } from 'node:timers/promises';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { type ChaosReport, runChaos } from './chaos/chaos';
import type { Harm } from './chaos/harm';
import { Stage } from './chaos/stage';
import { type AppName, appNames } from './fleet';

jest.setTimeout(40 * 60_000);

const former = process.env['FORMER_RELEASE'] ?? '';
const today = process.cwd();
const reason = !former
  ? 'FORMER_RELEASE names no folder of a built former release'
  : !hasNatsServer() && 'there is no nats-server';
if (reason) process.stderr.write(`The upgrade is not tried: ${reason}.\n`);

/** Apps that the former release lacks: they start before the others, and stay during a rollback. */
const added: AppName[] = (process.env['ADDED_APPS'] ?? 'models').split(',').filter(Boolean) as AppName[];
const replaced = appNames.filter((name) => !added.includes(name));
const processes = 2;
const eventEveryMs = 250;
const settledWithinMs = 120_000;

const code = `
  exports.handler = async ({ headers, body }) => {
    if (headers['x-bp-operation'] !== 'event_received') return { status: 200 };
    console.log('handled ' + JSON.parse(body).event.payload.number);
    return { status: 200 };
  };`;

/** A change of the running platform, in the place of a fault. */
const step = (kind: string, happen: Harm['happen']): Harm => ({ kind, target: 'the platform', happen });

/** Replaces the processes one by one, each by the former contract of a stop: SIGTERM, and the end of its requests. */
function roll(release: string, names: readonly AppName[]): Harm[] {
  const kind = release === former ? 'roll back' : 'upgrade';
  return names.flatMap((name) =>
    Array.from({ length: processes }, (_, place) =>
      step(`${kind} ${name}`, async ({ fleet }) => {
        const replica = fleet.replicas(name)[place]!;
        await replica.end('SIGTERM');
        if (replica.exitCode !== 0)
          throw new Error(`${name} ended with ${replica.exitCode}: ${replica.output.slice(-3_000)}`);
        replica.release = release;
        await replica.start();
        await Promise.all(fleet.balancers.map((balancer) => balancer.allReady()));
      }),
    ),
  );
}

(reason ? describe.skip : describe)('Upgrade of a loaded platform', () => {
  let stage: Stage;

  beforeAll(async () => {
    const counts = Object.fromEntries(added.map((name) => [name, 0]));
    stage = await Stage.open(undefined, counts, former);
  });

  afterAll(() => stage?.close());

  it('fails no request and loses nothing, app by app to this release, back, and to this release again', async () => {
    const { fleet } = stage;
    const { bot } = await clientOf(fleet).createBot({ code });
    const events = new SentEvents(clientOf(fleet, bot.id));
    const harms = [
      step('prepare', () => fleet.prepare(today)),
      ...added.map((name) => step(`add ${name}`, () => fleet.add(name, today))),
      ...roll(today, replaced),
      ...roll(former, [...replaced].reverse()),
      ...roll(today, replaced),
    ];

    const sending = events.send();
    const report = await runChaos(stage, {
      seed: 1,
      harms,
      tell: (line) => process.stderr.write(`${line}\n`),
      signal: new AbortController().signal,
    }).finally(() => events.stop());
    await sending;

    process.stderr.write(`${JSON.stringify({ ...report, events: events.count }, null, 2)}\n`);
    expect(report).toMatchObject({ unclean: [], violations: [] });
    expect(failedOf(report)).toEqual({});
    expect(events.failures).toEqual([]);
    await waitFor(
      () => events.statuses(),
      (counts) => counts['processed'] === events.count,
      settledWithinMs,
    );
    expect(await events.statuses()).toEqual({ processed: events.count });
    expect(Math.min(...Object.values(report.writes))).toBeGreaterThan(10);
  });
});

/** Events for the code of a bot, one after the other. */
class SentEvents {
  readonly failures: string[] = [];
  count = 0;
  private readonly stopping = new AbortController();

  constructor(private readonly client: Client) {}

  async send(): Promise<void> {
    for await (const _ of setInterval(eventEveryMs)) {
      if (this.stopping.signal.aborted) return;
      try {
        await this.client.createEvent({ type: 'happened', payload: { number: this.count + 1 } });
        this.count += 1;
      } catch (error) {
        this.failures.push(String(error));
      }
    }
  }

  stop(): void {
    this.stopping.abort();
  }

  async statuses(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { status } of await this.client.list.events({}).collect()) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }
}

function failedOf({ requests: { ok: _, ...failed } }: ChaosReport): Record<string, number> {
  return failed;
}
