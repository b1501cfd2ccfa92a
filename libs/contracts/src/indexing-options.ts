import { IsBoolean, IsIn, IsInt, Max, Min } from 'class-validator';
import { Checked, Nested, Optional } from './fields';

export class ParsingOptions {
  @Optional() @IsIn(['agent', 'standard']) mode?: 'agent' | 'standard';

  /** Characters. Neighbouring paragraphs that are shorter are merged. */
  @Optional() @IsInt() @Min(50) @Max(2000) minimumParagraphLength?: number;

  @Optional() @IsBoolean() smartCleanup?: boolean;

  /**
   * Reads pages of PDF files without text, and pictures (PNG, JPEG, WebP, TIFF), by text recognition (OCR). Default: by the
   * setting `OCR` of the server, which leaves it out.
   */
  @Optional() @IsBoolean() ocr?: boolean;
}

export class ChunkingOptions {
  /** Characters. */
  @Optional() @IsInt() @Min(100) @Max(5000) maximumChunkLength?: number;

  @Optional() @IsInt() @Min(0) @Max(3) embeddedContextLevels?: number;
  @Optional() @IsBoolean() embedBreadcrumb?: boolean;
}

export class SummarizationOptions {
  @Optional() @IsBoolean() enable?: boolean;
  @Optional() @IsIn(['inexpensive', 'balanced', 'accurate']) modelType?: 'inexpensive' | 'balanced' | 'accurate';

  /** Characters. Shorter documents get no summary. Default: 1000. */
  @Optional() @IsInt() @Min(1000) @Max(10_000) minimumInputLength?: number;

  /** Tokens of a summary at most. Default: 1000. */
  @Optional() @IsInt() @Min(1000) @Max(10_000) outputTokenLimit?: number;

  /** Adds a summary of the summaries to a document that is too long for a single one. */
  @Optional() @IsBoolean() generateMasterSummary?: boolean;
}

/** All pages, none, or a list of page numbers from 1. The public client's type of the list is `object`. */
export type PageChoice = boolean | object;

const maxPageNumber = 5_000;
const isPageNumber = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= maxPageNumber;

function IsPageChoice(): PropertyDecorator {
  const pageNumber = { type: 'integer', minimum: 1, maximum: maxPageNumber } as const;
  return Checked({
    convert: (value) => value,
    problem: (value) => {
      if (typeof value === 'boolean') return undefined;
      if (Array.isArray(value) && value.length <= maxPageNumber && value.every(isPageNumber)) return undefined;
      return `must be a boolean or a list of at most ${maxPageNumber} page numbers, each from 1 to ${maxPageNumber}`;
    },
    schema: { oneOf: [{ type: 'boolean' }, { type: 'array', items: pageNumber, maxItems: maxPageNumber }] },
  });
}

/** Only for PDF files; ignored for others. */
export class VisionOptions {
  /** Pages whose text a vision model reads from their image. */
  @Optional() @IsPageChoice() transcribePages?: PageChoice;

  /** Pages that a vision model describes, each in a passage of type `image`. */
  @Optional() @IsPageChoice() indexPages?: PageChoice;
}

export class IndexingConfiguration {
  @Optional() @Nested(ParsingOptions) parsing?: ParsingOptions;
  @Optional() @Nested(ChunkingOptions) chunking?: ChunkingOptions;
  @Optional() @Nested(SummarizationOptions) summarization?: SummarizationOptions;
  @Optional() @IsIn(['legacy', 'realtime-v1']) stack?: 'legacy' | 'realtime-v1';
  @Optional() @Nested(VisionOptions) vision?: VisionOptions;
}

export class IndexingOptions {
  @Nested(IndexingConfiguration) configuration!: IndexingConfiguration;
}
