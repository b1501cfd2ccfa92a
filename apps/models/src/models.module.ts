import { type DynamicModule, Module } from '@nestjs/common';
import { modelsApp } from '@parley/contracts/apps/models';
import { models } from '@parley/contracts/models/models';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import type { SealedColumns } from '@parley/secrets/sealed-texts.repository';
import { SealingModule } from '@parley/secrets/sealing.module';
import { workController } from '@parley/work-queue/work.controller';
import { AmountsHandler } from './budgets/amounts.handler';
import { AmountsRepository } from './budgets/amounts.repository';
import { BudgetNoticesRepository } from './budgets/budget-notices.repository';
import { BudgetNoticesService } from './budgets/budget-notices.service';
import { BudgetsService } from './budgets/budgets.service';
import { allowsPrivate } from '@parley/egress/config';
import { EgressClient } from '@parley/egress/egress.client';
import { CachedCallsService } from './budgets/cached-calls.service';
import { ModelCallEntity } from './budgets/model-call.entity';
import { BudgetEntity, BudgetNoticeEntity, ReservationEntity, SpendEntity } from './budgets/spend.entity';
import { SpendRepository } from './budgets/spend.repository';
import { CallsController } from './calls/calls.controller';
import { CallsRepository } from './calls/calls.repository';
import { CallsService } from './calls/calls.service';
import { CognitiveController } from './cognitive/cognitive.controller';
import { CognitiveService } from './cognitive/cognitive.service';
import { ModelsConfig } from './config';
import { DeletedBotEntity } from './erasure/deleted-bot.entity';
import { CallContentEntity, ContentSettingEntity } from './contents/content.entity';
import { ContentsController } from './contents/contents.controller';
import { ContentsRepository } from './contents/contents.repository';
import { ContentsService } from './contents/contents.service';
import { EraseContentsHandler } from './contents/erase-contents.handler';
import { ErasureController } from './erasure/erasure.controller';
import { ErasureRepository } from './erasure/erasure.repository';
import { ErasureService } from './erasure/erasure.service';
import { AnswersService } from './generation/answers.service';
import { GenerationService } from './generation/generation.service';
import { PicturesService } from './generation/pictures.service';
import { PublicFilesService } from './generation/public-files.service';
import { StoredAnswerEntity } from './generation/stored-answer.entity';
import { StoredAnswersRepository } from './generation/stored-answers.repository';
import { ModelActionsController } from './legacy/model-actions.controller';
import { ModelActionsService } from './legacy/model-actions.service';
import { DrawingService } from './media/drawing.service';
import { HeardPartsService } from './media/heard-parts.service';
import { MediaCallsService } from './media/media-calls.service';
import { MediaController } from './media/media.controller';
import { MediaService } from './media/media.service';
import { SpeechService } from './media/speech.service';
import { TranscriptionService } from './media/transcription.service';
import { CallsOfConversations1797500000000 } from './migrations/1797500000000-calls-of-conversations';
import { Models1797200000000 } from './migrations/1797200000000-models';
import { Budgets1797400000000 } from './migrations/1797400000000-budgets';
import { Providers1797300000000 } from './migrations/1797300000000-providers';
import { Contents1797600000000 } from './migrations/1797600000000-contents';
import { EmbeddingsService } from './openai/embeddings.service';
import { OpenAiController } from './openai/openai.controller';
import { OpenAiService } from './openai/openai.service';
import { KnownProvidersService } from './providers/known-providers.service';
import { OperatorProvidersService } from './providers/operator-providers.service';
import { OutcomesService } from './providers/outcomes.service';
import { ProviderLimitsService } from './providers/provider-limits.service';
import { ProviderStatesRepository } from './providers/provider-states.repository';
import { ProviderStatesService } from './providers/provider-states.service';
import { ProviderEntity, ProviderStateEntity } from './providers/provider.entity';
import { ProvidersController } from './providers/providers.controller';
import { ProvidersRepository } from './providers/providers.repository';
import { ProvidersService } from './providers/providers.service';
import { UpstreamClient } from './providers/upstream.client';
import { UseReportEntity } from './use/use-report.entity';
import { UseReportsRepository } from './use/use-reports.repository';
import { UseReportsService } from './use/use-reports.service';
import { TextsController } from './texts/texts.controller';
import { TextsService } from './texts/texts.service';

export const modelsDatabase: ServiceSchema = {
  schema: 'models',
  migrations: [
    Models1797200000000,
    Providers1797300000000,
    Budgets1797400000000,
    CallsOfConversations1797500000000,
    Contents1797600000000,
  ],
  entities: [
    ...eventEntities,
    IdempotencyKeyEntity,
    BudgetEntity,
    BudgetNoticeEntity,
    SpendEntity,
    ReservationEntity,
    ModelCallEntity,
    StoredAnswerEntity,
    ContentSettingEntity,
    CallContentEntity,
    DeletedBotEntity,
    UseReportEntity,
    ProviderEntity,
    ProviderStateEntity,
  ],
};

const sealedColumns: SealedColumns = {
  owners: 'provider',
  columns: [{ table: 'provider', column: 'sealed_key', owner: 'id' }],
};

/** Language models for bots: providers, fallback, budgets and records of the calls. */
@Module({})
export class ModelsModule {
  static register(config: ModelsConfig, platform: Platform): DynamicModule {
    return {
      module: ModelsModule,
      imports: [
        ServiceModule.register(
          {
            name: 'models',
            contract: models,
            consumers: modelsApp.consumes,
            database: { ...modelsDatabase, config },
          },
          platform,
        ),
        ConfigModule.register(ModelsConfig, config),
        SealingModule.register(config, sealedColumns, models.sealedTexts),
      ],
      controllers: [
        AmountsHandler,
        CallsController,
        CognitiveController,
        ContentsController,
        EraseContentsHandler,
        ErasureController,
        MediaController,
        ModelActionsController,
        OpenAiController,
        ProvidersController,
        TextsController,
        deadLettersController(models.deadLetters),
        workController(models.work),
      ],
      providers: [
        AmountsRepository,
        AnswersService,
        BudgetNoticesRepository,
        BudgetNoticesService,
        BudgetsService,
        CachedCallsService,
        CallsRepository,
        CallsService,
        CognitiveService,
        ContentsRepository,
        ContentsService,
        DrawingService,
        EmbeddingsService,
        ErasureRepository,
        ErasureService,
        GenerationService,
        HeardPartsService,
        KnownProvidersService,
        MediaCallsService,
        MediaService,
        ModelActionsService,
        OpenAiService,
        OperatorProvidersService,
        OutcomesService,
        PicturesService,
        ProviderLimitsService,
        ProvidersRepository,
        ProvidersService,
        ProviderStatesRepository,
        ProviderStatesService,
        PublicFilesService,
        SpeechService,
        SpendRepository,
        StoredAnswersRepository,
        TextsService,
        TranscriptionService,
        UpstreamClient,
        UseReportsRepository,
        UseReportsService,
        { provide: EgressClient, useValue: new EgressClient({ allowPrivate: allowsPrivate(config) }) },
      ],
    };
  }
}
