import { type Embedder, EmbedderRefused } from '@parley/passages/embedder';

/**
 * A vector for each text; undefined for a text that the model rejects. Throws EmbedderRefused when the model rejects
 * everything.
 */
export async function embedAcceptable(
  embedder: Embedder,
  texts: string[],
  signal: AbortSignal,
): Promise<(Float32Array | undefined)[]> {
  try {
    return await embedder.embed(texts, signal);
  } catch (error) {
    if (!(error instanceof EmbedderRefused)) throw error;
    await embedder.embed(['ready'], signal);
    return Promise.all(texts.map((text) => embedOrSkip(embedder, text, signal)));
  }
}

async function embedOrSkip(embedder: Embedder, text: string, signal: AbortSignal): Promise<Float32Array | undefined> {
  try {
    return (await embedder.embed([text], signal))[0];
  } catch (error) {
    if (error instanceof EmbedderRefused) return undefined;
    throw error;
  }
}
