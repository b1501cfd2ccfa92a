import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import type { Provider } from './provider';
import { ProviderStatesRepository } from './provider-states.repository';
import { UpstreamError } from './upstream-error';

/** Calls at once of a bot, in one process, and those that wait behind them. */
const callsOfBot = 256;
const waitingOfBot = 1_000;
const minuteMs = 60_000;
/** Part of the calls of a minute that may come at once. */
const burstShare = 0.1;

/** Limits of a provider: calls at once in this process, and calls a minute in all processes. */
@Injectable()
export class ProviderLimitsService {
  private readonly slots = new WeakMap<Provider, FairSemaphore>();

  constructor(private readonly states: ProviderStatesRepository) {}

  /**
   * Waits until the provider may be asked. Resolves with the function that ends the call. Throws UpstreamError when that
   * would take longer than `withinMs`, or the reason of the signal.
   */
  async enter(
    provider: Provider,
    botId: string,
    { signal, withinMs }: { signal: AbortSignal; withinMs: number },
  ): Promise<() => void> {
    signal.throwIfAborted();
    const slots =
      this.slots.get(provider) ??
      new FairSemaphore({ size: provider.concurrency, maxEach: callsOfBot, maxWaitingEach: waitingOfBot });
    this.slots.set(provider, slots);
    const until = performance.now() + withinMs;
    const leave = await this.slot(provider, slots, botId, { signal, withinMs });
    if (provider.rate === undefined) return leave;
    try {
      await this.waitForRate(provider, provider.rate, { signal, withinMs: Math.max(0, until - performance.now()) });
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  private async slot(
    { name, concurrency }: Provider,
    slots: FairSemaphore,
    botId: string,
    { signal, withinMs }: { signal: AbortSignal; withinMs: number },
  ): Promise<() => void> {
    const waiting = new AbortController();
    const late = setTimeout(
      () =>
        waiting.abort(
          new UpstreamError(
            'full',
            `All slots of the provider "${name}" (${concurrency}) were taken for ${withinMs} ms.`,
          ),
        ),
      withinMs,
    );
    const stop = () => waiting.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await slots.enter(botId, waiting.signal);
    } catch (error) {
      if (!(error instanceof TooManyWaiting)) throw error;
      throw new UpstreamError('full', `${waitingOfBot} calls of this bot wait for the provider "${name}" already.`);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
    }
  }

  /** Never lets more than `rate` calls begin within any minute: a burst, and the rest evenly. */
  private async waitForRate(
    { name }: Provider,
    rate: number,
    { signal, withinMs }: { signal: AbortSignal; withinMs: number },
  ): Promise<void> {
    const burst = Math.max(1, Math.floor(rate * burstShare));
    const intervalMs = minuteMs / (rate - burst + 1);
    const waitMs = await this.states.takeCall(name, { intervalMs, toleranceMs: (burst - 1) * intervalMs, withinMs });
    if (waitMs === undefined)
      throw new UpstreamError('full', `The rate of the provider "${name}" is used up: ${rate} requests a minute.`);
    if (waitMs === 0) return;
    try {
      await sleep(waitMs, undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }
}
