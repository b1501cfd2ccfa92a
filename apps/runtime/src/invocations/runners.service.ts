import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { announceMs, type RunnerAnnounced, runnerAnnounced, runnersWanted } from '@parley/contracts/runner/runner';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ParleyClient } from '@parley/transport/parley-client';

/** A runner that is not heard for this time has ended. */
const silenceMs = 3.5 * announceMs;

interface Runner {
  freePlaces: number;
  gone: AbortController;
  /** None in the only process, whose runner ends with it. */
  timer?: NodeJS.Timeout;
}

/** Runners that announce themselves. */
@Injectable()
export class RunnersService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly known = new Map<string, Runner>();
  private readonly listeners: ((freePlaces: number) => void)[] = [];
  private hasRefused = false;

  constructor(
    private readonly client: ParleyClient,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  onApplicationBootstrap(): void {
    this.client.listen(runnerAnnounced, (announced) => this.note(announced));
    this.client.broadcast(runnersWanted, {});
  }

  onModuleDestroy(): void {
    for (const { timer } of this.known.values()) clearTimeout(timer);
  }

  /** No runner had a place. */
  noteRefusal(): void {
    this.hasRefused = true;
  }

  /** Called when a runner has free places, after a refusal. */
  onFree(listener: (freePlaces: number) => void): void {
    this.listeners.push(listener);
  }

  /** Ids of all runners. The first one is always the same for a key, as long as it is there: rendezvous hashing. */
  inOrderFor(key: string): string[] {
    const weights = [...this.known.keys()].map((id) => ({ id, weight: hash('sha256', `${key}/${id}`) }));
    return weights.sort((a, b) => (a.weight < b.weight ? 1 : -1)).map(({ id }) => id);
  }

  /** Aborted when the runner has ended. Undefined for an unknown runner. */
  goneSignal(id: string): AbortSignal | undefined {
    return this.known.get(id)?.gone.signal;
  }

  /** Forgets a runner that did not take a call, unless it announces itself again. */
  lookAgain(id: string): void {
    this.forget(id);
    this.client.broadcast(runnersWanted, {});
  }

  private forget(id: string): void {
    const runner = this.known.get(id);
    if (!runner) return;
    clearTimeout(runner.timer);
    this.known.delete(id);
    runner.gone.abort();
  }

  private note({ runnerId, freePlaces, isLeaving }: RunnerAnnounced): void {
    const former = this.known.get(runnerId);
    clearTimeout(former?.timer);
    // Calls that run are answered before a runner leaves.
    if (isLeaving) return void this.known.delete(runnerId);
    const { isOnlyProcess } = this.platform;
    const timer = isOnlyProcess ? undefined : setTimeout(() => this.forget(runnerId), silenceMs).unref();
    this.known.set(runnerId, { freePlaces, timer, gone: former?.gone ?? newGone() });
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
