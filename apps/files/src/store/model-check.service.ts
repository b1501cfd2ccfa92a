import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { retiredModels } from '@parley/passages/bundled-embedder';
import type { Embedder } from '@parley/passages/embedder';
import { embedder } from '@parley/passages/tokens';
import { IndexModelsRepository } from './index-models.repository';

/** Refuses to start with an embedding model under which files would no longer be found. */
@Injectable()
export class ModelCheckService implements OnModuleInit {
  constructor(
    private readonly models: IndexModelsRepository,
    @Inject(embedder) private readonly active: Embedder,
  ) {}

  async onModuleInit(): Promise<void> {
    const { model } = this.active;
    const incomplete = await this.models.activateModel(model, retiredModels);
    if (!incomplete) return;
    const { activeModel, lacking } = incomplete;
    throw new Error(
      `The embedding model "${model}" cannot be searched with yet: ${lacking} indexed files have no vectors of it. ` +
        `Set EMBEDDINGS_URL and EMBEDDINGS_MODEL back to the model "${activeModel}", set NEXT_EMBEDDINGS_URL and ` +
        `NEXT_EMBEDDINGS_MODEL to "${model}", start, run \`npm run parley -- reindex\`, and switch when it is complete.`,
    );
  }
}
