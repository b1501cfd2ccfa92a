import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Handled } from '@parley/bus/dispatcher';

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What one process measures, in Prometheus' terms. */
export class Metrics {
  readonly registry = new Registry();

  private readonly handled = new Histogram({
    name: 'parley_bus_handled_seconds',
    help: 'Time that an operation or event took in the service that handled it.',
    labelNames: ['kind', 'subject', 'outcome'],
    buckets: seconds,
    registers: [this.registry],
  });

  private readonly requests = new Histogram({
    name: 'parley_http_request_seconds',
    help: 'Time from the request to the end of the answer, by route.',
    labelNames: ['route', 'status'],
    buckets: seconds,
    registers: [this.registry],
  });

  private readonly redelivered = new Counter({
    name: 'parley_events_redelivered_total',
    help: 'Events that a consumer was given again, because it had failed or fallen silent before.',
    labelNames: ['consumer'],
    registers: [this.registry],
  });

  private readonly shed = new Counter({
    name: 'parley_shed_total',
    help: 'What was refused before anything was done, with 503 and streams with 429, by what it was refused at and why.',
    labelNames: ['place', 'reason'],
    registers: [this.registry],
  });

  private readonly degradedSearches = new Counter({
    name: 'parley_search_degraded_total',
    help: 'Searches that found less than they should, by reason: the passage index lacks points or left some out.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  private readonly writesRefused = new Counter({
    name: 'parley_writes_refused_total',
    help: 'Writes that were not done because the database or the content store takes none, as on a full disk.',
    labelNames: ['store'],
    registers: [this.registry],
  });

  /** What each gauge reads, by its labels. */
  private readonly readers = new Map<string, Map<string, Reader>>();
  private readonly places = new Map<string, () => number>();
  private rendered?: { text: Promise<Buffer>; until: number };

  /** @param sharedForMs how long those who ask share what was rendered */
  constructor(private readonly sharedForMs = 1_000) {
    const { places } = this;
    new Gauge({
      name: 'parley_under_way',
      help: 'What is under way and bounded, by the place that bounds it.',
      labelNames: ['place'],
      registers: [this.registry],
      collect() {
        for (const [place, read] of places) this.set({ place }, read());
      },
    });
    // Prometheus sees the first one only as a growth from 0.
    for (const store of ['database', 'content store'] as const) this.writesRefused.inc({ store }, 0);
    collectDefaultMetrics({ register: this.registry });
    const about = { version: installedVersion(), node: process.version };
    this.gauge('parley_build_info', 'Always 1: the labels say what runs.', () => Promise.resolve(1), about);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** All figures, as Prometheus reads them. Those who ask within a second share them: to render them holds up all else. */
  text(): Promise<Buffer> {
    const now = performance.now();
    if (this.rendered && now < this.rendered.until) return this.rendered.text;
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

  /** Shows how much is under way at this place. */
  watchUnderWay(place: string, read: () => number): void {
    this.places.set(place, read);
  }

  /** Figures that only grow and differ by one label, whose values are few. */
  counters(name: string, help: string, label: string): (value: string) => void {
    this.registry.removeSingleMetric(name);
    const counter = new Counter({ name, help, labelNames: [label], registers: [this.registry] });
    return (value) => counter.inc({ [label]: value });
  }

  /** A figure that only grows: with each call of the function that it gives, by one unless that is told more. */
  counter(name: string, help: string): (by?: number) => void {
    this.registry.removeSingleMetric(name);
    const counter = new Counter({ name, help, registers: [this.registry] });
    return (by = 1) => counter.inc(by);
  }

  /** Figures that differ by one label, at hand when somebody reads the metrics. */
  gauges(name: string, help: string, label: string, read: () => Record<string, number>): void {
    this.registry.removeSingleMetric(name);
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect: () => Object.entries(read()).forEach(([value, figure]) => gauge.set({ [label]: value }, figure)),
    });
  }

  /**
   * A figure that is asked for when somebody reads the metrics.
   * @param labels tell it from the others of its name. Their values are few: names of ours, never ids.
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
      // A figure that cannot be read just now is no number, and keeps nobody from the others.
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

/** Of the package.json above this file, where it is compiled and where it is not. */
function installedVersion(): string {
  for (const depth of ['../../..', '../../../..']) {
    const path = join(__dirname, depth, 'package.json');
    if (existsSync(path)) return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
  }
  return 'unknown';
}
