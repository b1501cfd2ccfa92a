import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
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

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  observeHandled({ kind, subject, outcome, durationMs }: Handled): void {
    this.handled.observe({ kind, subject, outcome }, durationMs / 1000);
  }

  observeRequest(route: string, status: number, durationMs: number): void {
    this.requests.observe({ route, status }, durationMs / 1000);
  }

  /** A figure that is asked for when somebody reads the metrics. */
  gauge(name: string, help: string, read: () => Promise<number>): void {
    this.registry.removeSingleMetric(name);
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.registry],
      // A figure that cannot be read just now is no number, and keeps nobody from the others.
      collect: async () => gauge.set(await read().catch(() => NaN)),
    });
  }
}
