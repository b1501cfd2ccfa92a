import { type DynamicModule, Module } from '@nestjs/common';
import { runner } from '@parley/contracts/runner/runner';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { TransportModule } from '@parley/service/transport.module';
import { ChildrenService } from './children/children.service';
import { IsolationService } from './children/isolation.service';
import { CodeChecksController } from './code-checks/code-checks.controller';
import { CodeChecksService } from './code-checks/code-checks.service';
import { CodeService } from './code/code.service';
import { RunnerConfig } from './config';
import { InvocationsService } from './invocations/invocations.service';
import { LogSenderService } from './logs/log-sender.service';

/** Runs the code of bots in processes of their own. It has no database, and no key of the platform. */
@Module({})
export class RunnerModule {
  constructor(private readonly isolationService: IsolationService) {}

  /** Isolation of the processes of code, with its reason. Known when the module has started. */
  get isolation(): string {
    return this.isolationService.description;
  }

  static register(config: RunnerConfig, platform: Platform): DynamicModule {
    return {
      module: RunnerModule,
      imports: [
        TransportModule.register({ name: 'runner', contract: runner }, config, platform),
        ConfigModule.register(RunnerConfig, config),
      ],
      controllers: [CodeChecksController],
      providers: [
        ChildrenService,
        CodeChecksService,
        CodeService,
        IsolationService,
        InvocationsService,
        LogSenderService,
      ],
    };
  }
}
