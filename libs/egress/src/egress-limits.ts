export const maxHeaderBytes = 16_384;
export const connectTimeoutMs = 10_000;
