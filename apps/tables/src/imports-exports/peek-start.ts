/** Peeks at a stream: reads until the start is sufficient, and returns it together with the whole stream. */
export async function peekStart<Chunk>(
  chunks: AsyncIterable<Chunk>,
  {
    nothing,
    join,
    isEnough,
  }: { nothing: Chunk; join: (start: Chunk, next: Chunk) => Chunk; isEnough: (start: Chunk) => boolean },
): Promise<{ start: Chunk; all: AsyncIterable<Chunk> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let start = nothing;
  while (!isEnough(start)) {
    const next = await iterator.next();
    if (next.done) break;
    start = join(start, next.value);
  }
  return { start, all: continued(start, iterator) };
}

async function* continued<Chunk>(start: Chunk, iterator: AsyncIterator<Chunk>): AsyncIterable<Chunk> {
  try {
    yield start;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}
