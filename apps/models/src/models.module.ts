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
import { workController } from '@parley/work-queue/work.controller';
import { BudgetsService } from './budgets/budgets.service';
import { allowsPrivate } from '@parley/egress/config';
import { EgressClient } from '@parley/egress/egress.client';
import { ModelCallEntity } from './budgets/model-call.entity';
import { BudgetEntity, ReservationEntity, SpendEntity } from './budgets/spend.entity';
import { SpendRepository } from './budgets/spend.repository';
import { CognitiveController } from './cognitive/cognitive.controller';
import { CognitiveService } from './cognitive/cognitive.service';
import { ModelsConfig } from './config';
import { DeletedBotEntity } from './erasure/deleted-bot.entity';
import { ErasureController } from './erasure/erasure.controller';
import { ErasureRepository } from './erasure/erasure.repository';
import { ErasureService } from './erasure/erasure.service';
import { AnswersService } from './generation/answers.service';
import { GenerationService } from './generation/generation.service';
import { PicturesService } from './generation/pictures.service';
import { StoredAnswerEntity } from './generation/stored-answer.entity';
import { StoredAnswersRepository } from './generation/stored-answers.repository';
import { ModelActionsController } from './legacy/model-actions.controller';
import { ModelActionsService } from './legacy/model-actions.service';
import { Models1797200000000 } from './migrations/1797200000000-models';
import { EmbeddingsService } from './openai/embeddings.service';
import { OpenAiController } from './openai/openai.controller';
import { OpenAiService } from './openai/openai.service';
import { ProvidersService } from './providers/providers.service';
import { UpstreamClient } from './providers/upstream.client';
import { TextsController } from './texts/texts.controller';
import { TextsService } from './texts/texts.service';

export const modelsDatabase: ServiceSchema = {
  schema: 'models',
  migrations: [Models1797200000000],
  entities: [
    ...eventEntities,
    IdempotencyKeyEntity,
    BudgetEntity,
    SpendEntity,
    ReservationEntity,
    ModelCallEntity,
    StoredAnswerEntity,
    DeletedBotEntity,
  ],
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
      ],
      controllers: [
        CognitiveController,
        ErasureController,
        ModelActionsController,
        OpenAiController,
        TextsController,
        deadLettersController(models.deadLetters),
        workController(models.work),
      ],
      providers: [
        AnswersService,
        BudgetsService,
        CognitiveService,
        EmbeddingsService,
        ErasureRepository,
        ErasureService,
        GenerationService,
        ModelActionsService,
        OpenAiService,
        PicturesService,
        ProvidersService,
        SpendRepository,
        StoredAnswersRepository,
        TextsService,
        UpstreamClient,
        { provide: EgressClient, useValue: new EgressClient({ allowPrivate: allowsPrivate(config) }) },
      ],
    };
  }
}
