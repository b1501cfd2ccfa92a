/** Injection token of the configured PassageIndex. */
export const passageIndex = Symbol('parley:passage-index');
/** Injection token of the configured Embedder. */
export const embedder = Symbol('parley:embedder');
