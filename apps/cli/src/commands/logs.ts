import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { followLogs } from '@parley/contracts/runtime/log-tails';
import { type LogLevel, type LogLine, logLevels } from '@parley/contracts/runtime/logs';
import { runtime } from '@parley/contracts/runtime/runtime';
import { type Command, Option } from 'commander';
import { possibleBot } from '../bot-id';
import { Operator } from '../operator';
import type { Output } from '../output';

const dayMs = 86_400_000;
const reconnectMs = 1_000;
const maxReconnects = 60;
/** Lines that were stored just before the stream was lost may be listed and streamed: each is printed once. */
const overlapMs = 10_000;
const maxPages = 5;

interface LogOptions {
  follow?: boolean;
  level?: LogLevel;
  contains?: string;
  conversation?: string;
  since?: string;
}

export function addLogCommand(program: Command, output: Output): void {
  program
    .command('logs')
    .description('shows what the code of a bot printed, up to 1,000 lines, oldest first')
    .argument('<bot id>')
    .option('-f, --follow', 'goes on with new lines until it is stopped')
    .addOption(new Option('--level <level>', 'only lines of this level').choices(logLevels))
    .option('--contains <text>', 'only lines with this text, in upper or lower case')
    .option('--conversation <id>', 'only lines of this conversation')
    .option('--since <time>', 'from this time on, as in 2026-01-31T12:00:00Z (default: the last 24 hours)')
    .action(async (bot: string, options: LogOptions) => {
      const printer = new LinePrinter(possibleBot(bot), options, Operator.find(), output);
      const since = options.since ?? new Date(Date.now() - dayMs).toISOString();
      if (options.follow) await printer.follow(since);
      else await printer.list(since);
    });
}

/** Prints lines of one bot, each once. */
export class LinePrinter {
  private printed = new Set<string>();

  constructor(
    private readonly botId: string,
    private readonly options: LogOptions,
    private readonly operator: Operator,
    private readonly output: Output,
  ) {}

  /** Prints stored lines, oldest first. */
  async list(timeStart: string): Promise<void> {
    const { level, contains: messageContains, conversation: conversationId } = this.options;
    const query = { id: this.botId, timeStart, level, messageContains, conversationId };
    const lines: LogLine[] = [];
    let nextToken: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const answer = await this.operator.call(runtime.logs.listOfAnyBot, { ...query, nextToken });
      lines.push(...answer.lines);
      nextToken = answer.nextToken;
      if (nextToken === undefined) break;
    }
    if (nextToken !== undefined) this.output.err(`Only the newest ${lines.length} lines are shown.\n`);
    for (const line of lines.reverse()) this.print(line);
  }

  /**
   * Goes on until the signal. Connects again when the stream is lost, and prints what came meanwhile. Throws CommandFailed
   * when it cannot connect at first, or not again within a minute.
   */
  async follow(since: string, signal?: AbortSignal): Promise<void> {
    let timeStart = since;
    let response = await this.open(signal);
    for (;;) {
      await this.list(timeStart);
      timeStart = new Date(Date.now() - overlapMs).toISOString();
      try {
        for await (const text of createInterface({ input: Readable.fromWeb(response.body!) })) {
          if (!text.startsWith('data: {')) continue;
          const line = JSON.parse(text.slice('data: '.length)) as LogLine;
          timeStart = new Date(Date.parse(line.timestamp) - overlapMs).toISOString();
          if (this.isWanted(line)) this.print(line);
        }
      } catch (error) {
        if (signal?.aborted) return;
        this.output.err(`The stream was lost (${(error as Error).message}).\n`);
      }
      response = await this.openAgain(signal);
    }
  }

  private open(signal?: AbortSignal): Promise<Response> {
    return this.operator.open(followLogs.ofAnyBot, { id: this.botId }, signal);
  }

  private async openAgain(signal?: AbortSignal): Promise<Response> {
    for (let attempt = 1; ; attempt += 1) {
      await sleep(reconnectMs, undefined, { signal });
      try {
        return await this.open(signal);
      } catch (error) {
        if (attempt === maxReconnects) throw error;
      }
    }
  }

  private isWanted({ level, message, conversationId }: LogLine): boolean {
    const { level: wanted = level, contains = '', conversation = conversationId } = this.options;
    const isFound = message.toLowerCase().includes(contains.toLowerCase());
    return level === wanted && conversationId === conversation && isFound;
  }

  private print({ id, timestamp, level, message }: LogLine): void {
    if (this.printed.has(id)) return;
    this.printed.add(id);
    if (this.printed.size > 10_000) this.printed = new Set([...this.printed].slice(-5_000));
    this.output.out(`${timestamp} ${level.toUpperCase().padEnd(5)} ${message}\n`);
  }
}
