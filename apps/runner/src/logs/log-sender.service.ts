import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { systemCaller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { InvokeCode } from '@parley/contracts/runner/runner';
import { type LogLine, logs, maxWrittenLines } from '@parley/contracts/runtime/logs';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ParleyClient } from '@parley/transport/parley-client';
import { BundleOutput, type PrintedLine } from './bundle-output';

/** Lines of this time share a request. */
const collectMs = 200;
const retryMs = 1_000;
/** Memory: characters that wait in all, and in one request. */
const maxWaiting = 8_000_000;
const maxInRequest = 400_000;

/**
 * Sends the output of code to the runtime. Calls never wait for it: while the runtime is away, lines wait in memory, and
 * beyond 8 MB they are dropped and counted.
 */
@Injectable()
export class LogSenderService implements BeforeApplicationShutdown {
  private readonly logger = new Logger(LogSenderService.name);
  private readonly countDropped: (by?: number) => void;
  private waiting: LogLine[] = [];
  private characters = 0;
  private sending?: Promise<void>;
  private isStopping = false;

  constructor(
    private readonly client: ParleyClient,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.countDropped = metrics.counter(
      'parley_runner_log_lines_dropped_total',
      'Lines of the code of bots that were not stored: too many, or the runtime did not take them.',
    );
  }

  /** Output of a new process. Lines of an integration outside of any call have no bot. */
  outputOf({ owner, ownerId }: Pick<InvokeCode, 'owner' | 'ownerId'>): BundleOutput {
    const attributed = ({ isForBot, isForOwner, ...line }: PrintedLine) =>
      owner === 'bot'
        ? { ...line, botId: ownerId }
        : { ...line, botId: line.botId ?? '', integrationId: ownerId, isForBot, isForOwner };
    return new BundleOutput(
      (line) => this.add({ ...attributed(line), id: newId('log'), timestamp: new Date().toISOString() }),
      (lines) => this.countDropped(lines),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.sending;
    if (this.waiting.length > 0) await this.sendAll();
  }

  private add(line: LogLine): void {
    if (this.characters > maxWaiting) return this.countDropped();
    this.waiting.push(line);
    this.characters += line.message.length;
    this.sending ??= sleep(collectMs)
      .then(() => this.sendAll())
      .finally(() => (this.sending = undefined));
  }

  private async sendAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const lines = this.next();
      try {
        await this.client.call(logs.write, systemCaller(newId('req')), { lines });
        this.remove(lines);
      } catch (error) {
        if (this.isStopping || !isTemporary(error)) this.giveUp(this.isStopping ? this.waiting : lines, error);
        else await sleep(retryMs);
      }
    }
  }

  private next(): LogLine[] {
    let characters = 0;
    const lines = this.waiting.slice(0, maxWrittenLines);
    const end = lines.findIndex(({ message }, index) => (characters += message.length) > maxInRequest && index > 0);
    return end < 0 ? lines : lines.slice(0, end);
  }

  private remove(lines: LogLine[]): void {
    this.waiting = this.waiting.slice(lines.length);
    this.characters -= lines.reduce((sum, { message }) => sum + message.length, 0);
  }

  private giveUp(lines: LogLine[], reason: unknown): void {
    this.logger.warn(`${lines.length} lines of code were not stored: ${String(reason)}`);
    this.countDropped(lines.length);
    this.remove(lines);
  }
}

/** The runtime is away, or slow. It may have stored the lines, which it notices by their ids. */
function isTemporary(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 503 || error.type === 'OperationTimeout');
}
