import type { VisionOptions } from '@parley/contracts/indexing-options';
import type { BlockType } from './block';

/** Excerpt of a block for the model's prompt. */
export interface BlockExcerpt {
  number: number;
  type: BlockType;
  level?: number;
  /** First 300 characters of the block. */
  text: string;
  isWhole: boolean;
}

export interface WindowLabels {
  /** New block types. Blocks without a label keep their type. */
  labels: { number: number; type: BlockType; level?: number }[];
  boilerplate: number[];
}

export interface PagePicture {
  pageNumber: number;
  png: Uint8Array;
}

/** Port to a language model that labels blocks and reads page images. Invalid answers are discarded. */
export interface Adviser {
  label(window: BlockExcerpt[]): Promise<WindowLabels | undefined>;
  /** OCR: the text of the page. */
  transcribe(page: PagePicture): Promise<string | undefined>;
  describe(page: PagePicture): Promise<string | undefined>;
}

export interface Advice {
  labels?: boolean;
  vision?: VisionOptions;
}
