import type { VisionOptions } from '@parley/contracts/indexing-options';
import type { BlockType } from './block';

/** A block of a window, as a model sees it. */
export interface BlockExcerpt {
  /** Of its place in the window, from 1. */
  number: number;
  type: BlockType;
  level?: number;
  /** How it begins. */
  text: string;
  isWhole: boolean;
}

export interface WindowLabels {
  /** What blocks are; those that are not named stay what they were. */
  labels: { number: number; type: BlockType; level?: number }[];
  /** Blocks to leave out. */
  boilerplate: number[];
}

export interface PagePicture {
  pageNumber: number;
  png: Uint8Array;
}

/** What a model says of a document while it is read. Its answers are checked; what does not fit is as if not said. */
export interface Adviser {
  label(window: BlockExcerpt[]): Promise<WindowLabels | undefined>;
  /** The text of a page. */
  transcribe(page: PagePicture): Promise<string | undefined>;
  /** What a page shows. */
  describe(page: PagePicture): Promise<string | undefined>;
}

/** What a reader asks its adviser about. */
export interface Advice {
  labels?: boolean;
  vision?: VisionOptions;
}
