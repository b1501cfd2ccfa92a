import { SandboxService } from './sandbox.service';

let mockLooks = 0;

// A busy machine gives the thread no processor at first.
jest.mock('@parley/child-processes/runnable-time', () => ({
  threadMsOf: () => Promise.resolve((mockLooks += 1) < 3 ? 0 : Infinity),
}));

it('leaves a thread its processor time, however long that takes, before it is terminated', async () => {
  const sandbox = new SandboxService();
  try {
    // QuickJS cannot interrupt this.
    const outcome = await sandbox.run('Array(2 ** 32 - 1).indexOf(5)', {});

    expect(outcome).toEqual({ error: 'The code took longer than 250 ms.' });
    expect(mockLooks).toBe(3);
  } finally {
    await sandbox.onApplicationShutdown();
  }
});
