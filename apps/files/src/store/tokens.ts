export const blobStore = Symbol('parley:blob-store');
export const nextModel = Symbol('parley:next-model');
