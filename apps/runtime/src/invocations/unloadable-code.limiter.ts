import { Injectable } from '@nestjs/common';
import { atMostEntries } from '@parley/background/entry-limit';
import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { LRUCache } from 'lru-cache';
import { type Callee, CodeNotStarted, NotLoadable } from './invocation';

const maxBundles = 10_000;
const forgetMs = 10 * 60_000;

/**
 * Fair share of the places of runners for code that could not be loaded when it was called last. Code that hangs while it
 * loads holds a place until its runner gives it up, at each try.
 */
@Injectable()
export class UnloadableCodeLimiter {
  private readonly unloadable = new LRUCache<string, true>({ ...atMostEntries(maxBundles), ttl: forgetMs });
  private readonly places = new FairSemaphore({ size: 8, maxEach: 2, maxWaitingEach: 0 });

  /** Throws CodeNotStarted while other code that could not be loaded has the share of the workspace. */
  async run<T>(
    { ownerId, workspaceId }: Pick<Callee, 'ownerId' | 'workspaceId'>,
    revision: string,
    call: () => Promise<T>,
  ): Promise<T> {
    const bundle = `${ownerId}/${revision}`;
    try {
      const calling = () => this.noteEnd(bundle, call());
      return await (this.unloadable.has(bundle) ? this.places.run(workspaceId, calling) : calling());
    } catch (error) {
      if (!(error instanceof TooManyWaiting)) throw error;
      throw new CodeNotStarted('The code could not be loaded before, and waits for other code with which it was so.');
    }
  }

  private async noteEnd<T>(bundle: string, answer: Promise<T>): Promise<T> {
    try {
      const answered = await answer;
      this.unloadable.delete(bundle);
      return answered;
    } catch (error) {
      if (error instanceof NotLoadable) this.unloadable.set(bundle, true);
      throw error;
    }
  }
}
