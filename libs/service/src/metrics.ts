import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Metric, register, Registry } from 'prom-client';
import type { Handled } from '@parley/transport/parley-server';

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class Metrics {
  readonly registry = new Registry();

  private readonly handled = new Histogram({
    name: 'parley_bus_handled_seconds',
    help: 'Time to handle an operation or event in its service.',
    labelNames: ['kind', 'subject', 'outcome'],
    buckets: seconds,
    registers: [this.registry],
  });

  private readonly requests = new Histogram({
    name: 'parley_http_request_seconds',
    help: 'Time from the request to the end of the response, by route.',
    labelNames: ['route', 'status'],
    buckets: seconds,
    registers: [this.registry],
  });

  private readonly redelivered = new Counter({
    name: 'parley_events_redelivered_total',
    help: 'Events delivered again to a consumer, after a failure or a missed acknowledgement.',
    labelNames: ['consumer'],
    registers: [this.registry],
  });

  private readonly shed = new Counter({
    name: 'parley_shed_total',
    help: 'Requests rejected by load shedding (503, or 429 for streams), by place and reason.',
    labelNames: ['place', 'reason'],
    registers: [this.registry],
  });

  private readonly degradedSearches = new Counter({
    name: 'parley_search_degraded_total',
    help: 'Searches with incomplete results, by reason: the passage index lacks points or left some out.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  private readonly writesRefused = new Counter({
    name: 'parley_writes_refused_total',
    help: 'Writes rejected because the database or the content store accepts none, as on a full disk.',
    labelNames: ['store'],
    registers: [this.registry],
  });

  private readonly attempts = new Counter({
    name: 'parley_work_attempts_total',
    help: 'Attempts of background work, by queue and end.',
    labelNames: ['service', 'queue', 'end'],
    registers: [this.registry],
  });

  private readonly queueReaders = new Map<string, Map<string, () => Promise<Map<string, number>>>>();
  private readonly readers = new Map<string, Map<string, Reader>>();
  private readonly places = new Map<string, () => number>();
  private rendered?: { text: Promise<Buffer>; until: number };

  constructor(private readonly sharedForMs = 1_000) {
    const { places } = this;
    new Gauge({
      name: 'parley_under_way',
      help: 'Current use of each concurrency limit, by place.',
      labelNames: ['place'],
      registers: [this.registry],
      collect() {
        for (const [place, read] of places) this.set({ place }, read());
      },
    });
    // Starts at 0: Prometheus cannot see the first increment of a new series.
    for (const store of ['database', 'content store'] as const) this.writesRefused.inc({ store }, 0);
    const about = { version: installedVersion(), node: process.version };
    this.gauge(
      'parley_build_info',
      'Always 1. The labels have the versions of Parley and Node.js.',
      () => Promise.resolve(1),
      about,
    );
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** All metrics in the Prometheus text format. Cached for a second, because rendering blocks the event loop. */
  text(): Promise<Buffer> {
    const now = performance.now();
    if (this.rendered && now < this.rendered.until) return this.rendered.text;
    for (const metric of processMetrics()) this.registry.registerMetric(metric);
    const text = this.registry.metrics().then((all) => Buffer.from(all));
    const rendered = { text, until: Infinity };
    this.rendered = rendered;
    text.then(
      () => (rendered.until = performance.now() + this.sharedForMs),
      () => (rendered.until = 0),
    );
    return text;
  }

  observeHandled({ kind, subject, outcome, durationMs, consumer, attempt = 1 }: Handled): void {
    this.handled.observe({ kind, subject, outcome }, durationMs / 1000);
    if (consumer && attempt > 1) this.redelivered.inc({ consumer });
  }

  observeRequest(route: string, status: number, durationMs: number): void {
    this.requests.observe({ route, status }, durationMs / 1000);
  }

  countShed(place: string, reason: string): void {
    this.shed.inc({ place, reason });
  }

  countDegradedSearch(reason: string): void {
    this.degradedSearches.inc({ reason });
  }

  countWritesRefused(store: 'database' | 'content store'): void {
    this.writesRefused.inc({ store });
  }

  watchUnderWay(place: string, read: () => number): void {
    this.places.set(place, read);
  }

  /** Counter with one label of few values. */
  counters(name: string, help: string, label: string): (value: string) => void {
    this.registry.removeSingleMetric(name);
    const counter = new Counter({ name, help, labelNames: [label], registers: [this.registry] });
    return (value) => counter.inc({ [label]: value });
  }

  /** Counter without labels. The returned function increments it, by 1 unless given. */
  counter(name: string, help: string): (by?: number) => void {
    this.registry.removeSingleMetric(name);
    const counter = new Counter({ name, help, registers: [this.registry] });
    return (by = 1) => counter.inc(by);
  }

  /** Histogram of durations in seconds, with one label of few values. */
  histogram(name: string, help: string, label: string, buckets = seconds): (value: string, durationMs: number) => void {
    this.registry.removeSingleMetric(name);
    const histogram = new Histogram({ name, help, labelNames: [label], buckets, registers: [this.registry] });
    return (value, durationMs) => histogram.observe({ [label]: value }, durationMs / 1000);
  }

  /**
   * Gauge with the labels `service` and `queue`, read on each scrape by one statement of each service. Queues without a
   * value have no series.
   */
  gaugeOfQueues(name: string, help: string, service: string, read: () => Promise<Map<string, number>>): void {
    const known = this.queueReaders.get(name);
    const readers = known ?? new Map<string, () => Promise<Map<string, number>>>();
    readers.set(service, read);
    if (known) return;
    this.queueReaders.set(name, readers);
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: ['service', 'queue'],
      registers: [this.registry],
      collect: async () => {
        const read = async (of: string) => ({ of, values: await readers.get(of)!().catch(() => undefined) });
        const all = await Promise.all([...readers.keys()].map(read));
        gauge.reset();
        for (const { of, values } of all) values?.forEach((value, queue) => gauge.set({ service: of, queue }, value));
      },
    });
  }

  countAttempt(service: string, queue: string, end: string): void {
    this.attempts.inc({ service, queue, end });
  }

  /**
   * Gauge that is read on each scrape.
   * @param labels distinguish readers of the same gauge; few values, never ids
   */
  gauge(name: string, help: string, read: () => Promise<number>, labels: Record<string, string> = {}): void {
    const readers = this.readers.get(name) ?? new Map<string, Reader>();
    readers.set(JSON.stringify(labels), { labels, read });
    if (this.readers.has(name)) return;
    this.readers.set(name, readers);
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: [this.registry],
      // A reader that fails gives NaN; the other gauges are not affected.
      collect: async () => {
        const figures = [...readers.values()].map(async (reader) => ({
          ...reader,
          figure: await reader.read().catch(() => NaN),
        }));
        for (const { labels: own, figure } of await Promise.all(figures)) gauge.set(own, figure);
      },
    });
  }
}

interface Reader {
  labels: Record<string, string>;
  read: () => Promise<number>;
}

function installedVersion(): string {
  for (const depth of ['../../..', '../../../..']) {
    const path = join(__dirname, depth, 'package.json');
    if (existsSync(path)) return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
  }
  return 'unknown';
}

/**
 * Collected from the first scrape on, because the event loop monitor wakes the process 100 times a second; once for all
 * registries of the process, because nothing stops the timers and observers behind them.
 */
function processMetrics(): Metric[] {
  if (register.getMetricsAsArray().length === 0) collectDefaultMetrics();
  return register.getMetricsAsArray() as unknown as Metric[];
}
