/** Injects the BlobStore that the configuration chose. */
export const blobStore = Symbol('parley:blob-store');
