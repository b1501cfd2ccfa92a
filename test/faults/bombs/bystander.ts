import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import type { LoadTarget } from '../recorded-requests';

const pauseMs = 50;
const patienceMs = 20_000;
/** Code starts at a low priority: on a machine that is busy with other work, that takes long. */
const handledWithinMs = 120_000;

/** Another workspace, which reads its bot over and over while the platform is attacked. */
export class Bystander {
  private failures: string[] = [];
  private slowestMs = 0;
  private isStopped = false;
  private readonly watching: Promise<void>;

  private constructor(
    private readonly request: { url: string; headers: Record<string, string> },
    private readonly client: Client,
  ) {
    this.watching = this.watch();
  }

  static async start({ url, token, workspaceId }: LoadTarget): Promise<Bystander> {
    const { id } = await clientOf({ url, token, workspaceId }).createWorkspace({ name: 'Bystander' });
    const own = { url, token, workspaceId: id };
    const { bot } = await clientOf(own).createBot({ code: 'exports.handler = () => ({ status: 200 });' });
    const headers = { authorization: `Bearer ${token}`, 'x-workspace-id': id };
    return new Bystander({ url: `${url}/v1/admin/bots/${bot.id}`, headers }, clientOf(own, bot.id));
  }

  /** Failures and the slowest read since the last call. */
  seen(): { failures: string[]; slowestMs: number } {
    const seen = { failures: this.failures, slowestMs: Math.round(this.slowestMs) };
    [this.failures, this.slowestMs] = [[], 0];
    return seen;
  }

  /** Problem of an event for the code of its bot. */
  async problemOfEvent(): Promise<string | undefined> {
    const { event } = await this.client.createEvent({ type: 'still.there', payload: {} });
    for (const deadline = Date.now() + handledWithinMs; Date.now() < deadline; await sleep(pauseMs)) {
      const { status, failureReason } = (await this.client.getEvent({ id: event.id })).event;
      if (status === 'processed') return undefined;
      if (status !== 'pending') return `An event of another workspace is ${status}: ${failureReason}`;
    }
    return `An event of another workspace was not handled within ${handledWithinMs / 1_000} s.`;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.watching;
  }

  private async watch(): Promise<void> {
    while (!this.isStopped) {
      const started = performance.now();
      const problem = await this.read();
      this.slowestMs = Math.max(this.slowestMs, performance.now() - started);
      if (problem) this.failures.push(problem);
      await sleep(pauseMs);
    }
  }

  private async read(): Promise<string | undefined> {
    const { url, headers } = this.request;
    try {
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(patienceMs) });
      const text = await response.text();
      return response.status === 200 ? undefined : `${response.status} ${text.slice(0, 200)}`;
    } catch (error) {
      return String((error as Error).cause ?? error);
    }
  }
}
