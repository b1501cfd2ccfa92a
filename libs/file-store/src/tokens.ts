/** Injects the configured BlobStore. */
export const blobStore = Symbol('parley:blob-store');
/** Injects the NextModel, or null when none is configured. */
export const nextModel = Symbol('parley:next-model');
