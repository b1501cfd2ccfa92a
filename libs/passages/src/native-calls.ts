const [running, refused] = [0, 1];
/** A thread that dies of an error may leave a call that never ends. */
const patienceMs = 10_000;

/**
 * Native calls of a worker thread. If the thread ended during one, by `terminate` or the exit of the process, it would abort the
 * process: onnxruntime-node throws an error that nothing can catch.
 */
export class NativeCalls {
  private readonly state: Int32Array;

  /** @param memory of the NativeCalls of another thread */
  constructor(readonly memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.state = new Int32Array(memory);
  }

  /** Makes a call. Throws when calls are refused. */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    Atomics.add(this.state, running, 1);
    try {
      if (Atomics.load(this.state, refused) === 1) throw new Error('The embedder is closed.');
      return await call();
    } finally {
      Atomics.sub(this.state, running, 1);
      Atomics.notify(this.state, running);
    }
  }

  /** Refuses further calls, and blocks until none runs: 15 ms for a block of tokens, 0.2 s while the model is loaded. */
  refuse(): void {
    Atomics.store(this.state, refused, 1);
    const calls = Atomics.load(this.state, running);
    if (calls > 0) Atomics.wait(this.state, running, calls, patienceMs);
  }
}
