import type { PageChoice } from '@parley/contracts/indexing-options';
import type { Adviser, PagePicture } from './adviser';
import { type Block, DocumentWithoutText } from './block';
import { mostSeenPages } from './limits';
import { PageRenderer } from './page-renderer';

export class SeenPages {
  private constructor(
    private readonly renderer: PageRenderer,
    private readonly adviser: Adviser,
  ) {}

  static async open(bytes: Buffer, adviser: Adviser): Promise<SeenPages> {
    return new SeenPages(await PageRenderer.open(bytes), adviser);
  }

  /** Replaces the blocks of each chosen page by its transcription, if there is one. */
  async *transcribed(blocks: AsyncIterable<Block>, choice: PageChoice): AsyncGenerator<Block> {
    const waiting = this.chosen(choice);
    const replaced = new Set<number>();
    const upTo = async function* (this: SeenPages, last: number): AsyncGenerator<Block> {
      while (waiting.length > 0 && waiting[0]! <= last) {
        const pageNumber = waiting.shift()!;
        const text = await this.ask(pageNumber, (picture) => this.adviser.transcribe(picture));
        if (!text) continue;
        replaced.add(pageNumber);
        yield { type: 'page', text, pageNumber };
      }
    }.bind(this);

    let withoutText: DocumentWithoutText | undefined;
    try {
      for await (const block of blocks) {
        yield* upTo(block.pageNumber ?? 0);
        if (!replaced.has(block.pageNumber ?? 0)) yield block;
      }
    } catch (error) {
      if (!(error instanceof DocumentWithoutText)) throw error;
      withoutText = error;
    }
    yield* upTo(Infinity);
    if (withoutText && replaced.size === 0) throw withoutText;
  }

  async *described(choice: PageChoice): AsyncGenerator<{ pageNumber: number; text: string }> {
    for (const pageNumber of this.chosen(choice)) {
      const text = await this.ask(pageNumber, (picture) => this.adviser.describe(picture));
      if (text) yield { pageNumber, text };
    }
  }

  close(): Promise<void> {
    return this.renderer.close();
  }

  private chosen(choice: PageChoice): number[] {
    const all = Array.from({ length: this.renderer.pages }, (_, i) => i + 1);
    if (typeof choice === 'boolean') return choice ? all.slice(0, mostSeenPages) : [];
    const chosen = new Set<unknown>(Array.isArray(choice) ? choice : []);
    return all.filter((page) => chosen.has(page));
  }

  private async ask(
    pageNumber: number,
    question: (picture: PagePicture) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    const png = await this.renderer.render(pageNumber);
    return png && question({ pageNumber, png });
  }
}
