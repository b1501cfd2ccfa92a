import { Controller, Get, HttpStatus, Inject, Injectable, Res, UseFilters, UseGuards } from '@nestjs/common';
import { withDeadline } from '@parley/bus/transport';
import type { FastifyReply } from 'fastify';
import { ErrorFilter } from './error.filter';
import { MetricsGuard } from './metrics.guard';
import type { Platform } from './platform';
import { platformToken } from './tokens';

export const readinessChecks = Symbol('parley:readiness');

export interface ReadinessCheck {
  name: string;
  /** Throws when what the process needs does not answer. */
  check: () => Promise<unknown>;
}

const checkTimeoutMs = 2_000;

/** Whether this process should be given work: not while it stops, and not while something that it needs is silent. */
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

  /** Calls the listener when the process begins to stop, while it still serves. */
  onStop(listener: () => void): void {
    this.stopListeners.push(listener);
  }

  /**
   * Something that only a part of the process needs: it stays ready, and `/readyz` names the reason.
   * @param read why it cannot be used, in words that anyone may read; undefined when all is well. Answers at once.
   */
  onImpaired(name: string, read: () => string | undefined): void {
    this.impairmentReaders.set(name, read);
  }

  /** Reasons by name; empty when all is well. */
  impairments(): Record<string, string> {
    const reasons = [...this.impairmentReaders].map(([name, read]) => [name, read()] as const);
    return Object.fromEntries(reasons.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  /** What is not ready, by name; empty when all is well. */
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

/** `/healthz` says that the process lives, `/readyz` that what it needs answers, `/metrics` what it measures. */
@Controller()
@UseFilters(ErrorFilter)
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
    // Why is for the log: it may name hosts, and anyone may ask.
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
