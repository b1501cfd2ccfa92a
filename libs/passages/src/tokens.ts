export const passageIndex = Symbol('parley:passage-index');
export const embedder = Symbol('parley:embedder');
