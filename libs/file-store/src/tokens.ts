/** Injects the BlobStore that the configuration chose. */
export const blobStore = Symbol('parley:blob-store');
/** Injects the NextModel, or null when the configuration names none. */
export const nextModel = Symbol('parley:next-model');
