import { IsBoolean, IsIn, IsInt, Max, Min } from 'class-validator';
import { JsonObject, Nested, Optional } from './fields';

export class ParsingOptions {
  @Optional()
  @IsIn(['agent', 'standard'])
  mode?: 'agent' | 'standard';

  /** Characters below which neighbouring paragraphs are merged. */
  @Optional()
  @IsInt()
  @Min(50)
  @Max(2000)
  minimumParagraphLength?: number;

  @Optional()
  @IsBoolean()
  smartCleanup?: boolean;
}

export class ChunkingOptions {
  /** Characters of the longest passage. */
  @Optional()
  @IsInt()
  @Min(100)
  @Max(5000)
  maximumChunkLength?: number;

  @Optional()
  @IsInt()
  @Min(0)
  @Max(3)
  embeddedContextLevels?: number;

  @Optional()
  @IsBoolean()
  embedBreadcrumb?: boolean;
}

export class SummarizationOptions {
  @Optional()
  @IsBoolean()
  enable?: boolean;

  @Optional()
  @IsIn(['inexpensive', 'balanced', 'accurate'])
  modelType?: 'inexpensive' | 'balanced' | 'accurate';

  @Optional()
  @IsInt()
  @Min(1000)
  @Max(10_000)
  minimumInputLength?: number;

  @Optional()
  @IsInt()
  @Min(1000)
  @Max(10_000)
  outputTokenLimit?: number;

  @Optional()
  @IsBoolean()
  generateMasterSummary?: boolean;
}

export class IndexingConfiguration {
  @Optional()
  @Nested(ParsingOptions)
  parsing?: ParsingOptions;

  @Optional()
  @Nested(ChunkingOptions)
  chunking?: ChunkingOptions;

  @Optional()
  @Nested(SummarizationOptions)
  summarization?: SummarizationOptions;

  @Optional()
  @IsIn(['legacy', 'realtime-v1'])
  stack?: 'legacy' | 'realtime-v1';

  @Optional()
  @JsonObject({ maxBytes: 20_000 })
  vision?: Record<string, unknown>;
}

export class IndexingOptions {
  @Nested(IndexingConfiguration)
  configuration!: IndexingConfiguration;
}
