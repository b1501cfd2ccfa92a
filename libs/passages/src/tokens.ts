/** Injects the PassageIndex that the configuration chose. */
export const passageIndex = Symbol('parley:passage-index');
/** Injects the Embedder that the configuration chose. */
export const embedder = Symbol('parley:embedder');
