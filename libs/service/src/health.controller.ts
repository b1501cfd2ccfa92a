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

const checkTimeoutMs = 2_000;

/** Readiness: false while the process stops, and while a dependency does not respond. */
@Injectable()
export class Readiness {
  private stopping = false;
  private readonly stopListeners: (() => void)[] = [];
  private readonly impairmentReaders = new Map<string, () => string | undefined>();

  constructor(@Inject(readinessChecks) private readonly checks: ReadinessCheck[]) {}

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

  /** Reasons why the process is not ready, by name; empty when it is ready. */
  async problems(): Promise<Record<string, string>> {
    if (this.stopping) return { process: 'is stopping' };
    const problems: Record<string, string> = {};
    await Promise.all(
      this.checks.map(async ({ name, check }) => {
        const problem = await failure(name, check);
        if (problem) problems[name] = problem;
      }),
    );
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
    this.platform.logger.warn({ problems }, 'not ready');
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
