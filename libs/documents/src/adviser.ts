import type { VisionOptions } from '@parley/contracts/indexing-options';
import type { BlockType } from './block';

/** Excerpt of a block for the model's prompt. */
export interface BlockExcerpt {
  /** Position in the window, from 1. */
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
  /** Numbers of the blocks to drop. */
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
  /** Description of the pictures and diagrams on the page. */
  describe(page: PagePicture): Promise<string | undefined>;
}

/** Model features enabled for this document. */
export interface Advice {
  labels?: boolean;
  vision?: VisionOptions;
}
