import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { announceMs, type RunnerAnnounced, runnerAnnounced, runnersWanted } from '@parley/contracts/runner/runner';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ParleyClient } from '@parley/transport/parley-client';

/** A runner that was not heard between more ticks has ended. */
const maxSilentTicks = 3;

interface Runner {
  /** False after it took no call, until it announces itself again. */
  isOffered: boolean;
  silentTicks: number;
  gone: AbortController;
}

/** Runners that announce themselves. */
@Injectable()
export class RunnersService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly known = new Map<string, Runner>();
  private readonly listeners: ((freePlaces: number) => void)[] = [];
  private hasRefused = false;
  private ticking?: NodeJS.Timeout;

  constructor(
    private readonly client: ParleyClient,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  onApplicationBootstrap(): void {
    this.client.listen(runnerAnnounced, (announced) => this.note(announced));
    this.client.broadcast(runnersWanted, {});
    // The runner of the only process ends with it.
    if (!this.platform.isOnlyProcess) this.ticking = setInterval(() => this.tick(), announceMs).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.ticking);
  }

  /** No runner had a place. */
  noteRefusal(): void {
    this.hasRefused = true;
  }

  /** Called when a runner has free places, after a refusal. */
  onFree(listener: (freePlaces: number) => void): void {
    this.listeners.push(listener);
  }

  /**
   * Ids of the runners that take calls. The first one is always the same for a key, as long as it is there: rendezvous
   * hashing.
   */
  inOrderFor(key: string): string[] {
    const offered = [...this.known].filter(([, { isOffered }]) => isOffered);
    const weights = offered.map(([id]) => ({ id, weight: hash('sha256', `${key}/${id}`) }));
    return weights.sort((a, b) => (a.weight < b.weight ? 1 : -1)).map(({ id }) => id);
  }

  /** Aborted when the runner has ended. Undefined for an unknown runner. */
  goneSignal(id: string): AbortSignal | undefined {
    return this.known.get(id)?.gone.signal;
  }

  /** Offers a runner that did not take a call no more, unless it announces itself again. It may answer its other calls. */
  lookAgain(id: string): void {
    const runner = this.known.get(id);
    if (runner) runner.isOffered = false;
    this.client.broadcast(runnersWanted, {});
  }

  /** Counts ticks, not time: while this process does not run, it hears nobody, and only one tick is missed. */
  private tick(): void {
    for (const [id, runner] of this.known) {
      runner.silentTicks += 1;
      if (runner.silentTicks <= maxSilentTicks) continue;
      this.known.delete(id);
      runner.gone.abort();
    }
  }

  private note({ runnerId, freePlaces, isLeaving }: RunnerAnnounced): void {
    // Calls that run are answered before a runner leaves.
    if (isLeaving) return void this.known.delete(runnerId);
    const gone = this.known.get(runnerId)?.gone ?? newGone();
    this.known.set(runnerId, { isOffered: true, silentTicks: 0, gone });
    if (freePlaces === 0 || !this.hasRefused) return;
    this.hasRefused = false;
    for (const listener of this.listeners) listener(freePlaces);
  }
}

/** Each call that the runner handles listens to it. */
function newGone(): AbortController {
  const gone = new AbortController();
  setMaxListeners(0, gone.signal);
  return gone;
}
