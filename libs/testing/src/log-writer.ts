import type { DynamicModule } from '@nestjs/common';
import { systemCaller } from '@parley/contracts/caller';
import { type LogLine, logs } from '@parley/contracts/runtime/logs';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { ParleyClient } from '@parley/transport/parley-client';

interface App<Config> {
  register(config: Config, platform: Platform): DynamicModule;
}

/** An app under test, through whose bus lines of logs are written, as runners do. */
export class LogWriter<Config> {
  private client?: ParleyClient;
  private count = 0;
  private readonly startedAt = Date.now() - 60_000;

  constructor(private readonly app: App<Config>) {}

  register(config: Config, platform: Platform): DynamicModule {
    this.client = new ParleyClient(platform.driver);
    return this.app.register(config, platform);
  }

  /** Returns the lines as written, each a millisecond after the one before. */
  async write(botId: string, lines: Partial<LogLine>[]): Promise<LogLine[]> {
    const all = lines.map((line) => ({
      ...{ id: newId('log'), botId, level: 'info' as const, message: 'hello' },
      timestamp: new Date(this.startedAt + (this.count += 1)).toISOString(),
      ...line,
    }));
    await this.client!.call(logs.write, systemCaller('req'), { lines: all });
    return all;
  }
}
