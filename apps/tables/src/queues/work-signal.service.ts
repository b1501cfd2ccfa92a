import { Injectable } from '@nestjs/common';
import type { WorkKind } from '../schema/dirty-flags';

type Queue = WorkKind | 'job';

/**
 * Signal of new work in a queue. It wakes the workers of this process, which otherwise find the work in their next
 * round.
 */
@Injectable()
export class WorkSignalService {
  private readonly listeners: Record<Queue, (() => void)[]> = { compute: [], index: [], job: [] };

  onWork(queue: Queue, wake: () => void): void {
    this.listeners[queue].push(wake);
  }

  signal(queue: Queue): void {
    this.listeners[queue].forEach((wake) => wake());
  }
}
