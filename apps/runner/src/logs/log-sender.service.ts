import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { systemCaller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { InvokeCode } from '@parley/contracts/runner/runner';
import { type LogLine, logs, maxWrittenLines } from '@parley/contracts/runtime/logs';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ParleyClient } from '@parley/transport/parley-client';
import { BundleOutput, type PrintedLine } from './bundle-output';
import { LineTurns } from './line-turns';

/** Lines of this time share a request. */
const collectMs = 200;
const retryMs = 1_000;
/** Memory: size of the lines that wait in all, and characters in one request, which are many times the longest line. */
const maxWaiting = 8_000_000;
const maxInRequest = 400_000;
/** Memory of a line beside its text, in characters. */
const lineOverhead = 200;

/**
 * Sends the output of code to the runtime. Calls never wait for it: while the runtime is away, lines wait in memory, and
 * beyond 8 MB they are dropped and counted.
 */
@Injectable()
export class LogSenderService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(LogSenderService.name);
  private readonly countDropped: (by?: number) => void;
  private waiting: LogLine[] = [];
  private size = 0;
  private readonly turns = new LineTurns();
  private readonly sending: PollingWorker;

  constructor(
    private readonly client: ParleyClient,
    @Inject(platformToken) { logger, metrics }: Platform,
  ) {
    this.sending = new PollingWorker({ name: 'runner.logs', intervalMs: Infinity, logger }, () => this.sendSome());
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
      (output) => this.turns.add(output),
    );
  }

  onApplicationBootstrap(): void {
    this.sending.start();
  }

  /** Sends the last lines, without another attempt. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.turns.finish();
    await this.sending.stop();
    while (this.waiting.length > 0)
      await this.send(this.next()).catch((error: unknown) => this.giveUp(this.waiting, error));
  }

  private add(line: LogLine): void {
    if (this.size > maxWaiting) return this.countDropped();
    this.waiting.push(line);
    this.size += sizeOf(line);
    if (this.waiting.length === 1) this.sending.wakeIn(collectMs);
  }

  private async sendSome(): Promise<boolean> {
    const lines = this.next();
    if (lines.length === 0) return false;
    try {
      await this.send(lines);
    } catch (error) {
      if (isTemporary(error)) {
        this.sending.wakeIn(retryMs);
        return false;
      }
      this.giveUp(lines, error);
    }
    return this.waiting.length > 0;
  }

  private async send(lines: LogLine[]): Promise<void> {
    await this.client.call(logs.write, systemCaller(newId('req')), { lines });
    this.remove(lines);
  }

  private next(): LogLine[] {
    let characters = 0;
    const lines = this.waiting.slice(0, maxWrittenLines);
    const end = lines.findIndex(({ message }) => (characters += message.length) > maxInRequest);
    return end < 0 ? lines : lines.slice(0, end);
  }

  private remove(lines: LogLine[]): void {
    this.waiting.splice(0, lines.length);
    this.size -= lines.reduce((sum, line) => sum + sizeOf(line), 0);
  }

  private giveUp(lines: LogLine[], reason: unknown): void {
    this.logger.warn(`${lines.length} lines of code were not stored: ${String(reason)}`);
    this.countDropped(lines.length);
    this.remove(lines);
  }
}

function sizeOf({ message }: LogLine): number {
  return message.length + lineOverhead;
}

/** The runtime is away, or slow. It may have stored the lines, which it notices by their ids. */
function isTemporary(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 503 || error.type === 'OperationTimeout');
}
