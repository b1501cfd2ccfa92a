import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get, HttpStatus, Inject, Injectable, Res, UseGuards } from '@nestjs/common';
import { withDeadline } from '@parley/transport/driver';
import type { FastifyReply } from 'fastify';
import { MetricsGuard } from './metrics.guard';
import type { Platform } from './platform';
import { Public } from './public';
import { platformToken } from './tokens';

export const readinessChecks = Symbol('parley:readiness');

export interface ReadinessCheck {
  name: string;
  /** Throws when the dependency does not respond. */
  check: () => Promise<unknown>;
}

type Problems = Record<string, string>;

const checkTimeoutMs = 2_000;
/** Anybody may ask, and a check opens connections. */
const checkEachMs = 100;

/** Readiness: false while the process starts or stops, and while a dependency does not respond. */
@Injectable()
export class Readiness {
  private isStarting: boolean;
  private stopping = false;
  private readonly stopListeners: (() => void)[] = [];
  private readonly impairmentReaders = new Map<string, () => string | undefined>();
  private nextCheck?: Promise<Problems>;
  private lastCheckAt = -Infinity;

  constructor(
    @Inject(readinessChecks) private readonly checks: ReadinessCheck[],
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    const { started } = platform;
    this.isStarting = started !== undefined;
    void started?.then(() => (this.isStarting = false));
  }

  stop(): void {
    this.stopping = true;
    for (const listener of this.stopListeners) listener();
  }

  /** Calls the listener when the process begins to stop; it still serves requests then. */
  onStop(listener: () => void): void {
    this.stopListeners.push(listener);
  }

  /**
   * Registers a degraded feature: the process stays ready, and `/readyz` returns the reason.
   * @param read the reason, which is public; undefined when the feature works. Must be synchronous and fast.
   */
  onImpaired(name: string, read: () => string | undefined): void {
    this.impairmentReaders.set(name, read);
  }

  impairments(): Record<string, string> {
    const reasons = [...this.impairmentReaders].map(([name, read]) => [name, read()] as const);
    return Object.fromEntries(reasons.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  /**
   * Reasons why the process is not ready, by name; empty when it is ready. Checked after this call, together with other
   * calls.
   */
  async problems(): Promise<Problems> {
    if (this.stopping) return { process: 'is stopping' };
    if (this.isStarting) return { process: 'is starting' };
    return (this.nextCheck ??= this.checkNext());
  }

  private async checkNext(): Promise<Problems> {
    await sleep(Math.max(0, this.lastCheckAt + checkEachMs - performance.now()));
    this.nextCheck = undefined;
    this.lastCheckAt = performance.now();
    const results = await Promise.all(
      this.checks.map(async ({ name, check }) => [name, await failure(name, check)] as const),
    );
    const problems = Object.fromEntries(results.filter((entry): entry is [string, string] => entry[1] !== undefined));
    if (Object.keys(problems).length > 0) this.platform.logger.warn({ problems }, 'not ready');
    return problems;
  }
}

/** Probes and metrics: `/healthz` (liveness), `/readyz` (readiness) and `/metrics` (Prometheus). */
@Controller()
@Public()
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  @Get('healthz')
  health() {
    return { status: 'ok' };
  }

  @Get('readyz')
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const problems = await this.readiness.problems();
    const names = Object.keys(problems);
    const impaired = this.readiness.impairments();
    if (names.length === 0) return { status: 'ready', ...(Object.keys(impaired).length > 0 && { impaired }) };
    reply.code(HttpStatus.SERVICE_UNAVAILABLE);
    // Reasons are logged only: they may contain host names, and this route is public.
    return { status: 'not ready', waitingFor: names };
  }

  @Get('metrics')
  @UseGuards(MetricsGuard)
  async metrics(@Res({ passthrough: true }) reply: FastifyReply) {
    const { metrics } = this.platform;
    reply.header('content-type', metrics.contentType);
    return metrics.text();
  }
}

async function failure(name: string, check: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await withDeadline(name, check(), checkTimeoutMs);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
