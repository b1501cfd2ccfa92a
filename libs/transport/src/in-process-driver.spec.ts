import { InProcessHub, InProcessDriver } from './in-process-driver';
import { silent } from './test/probe';
import { transportBehaviour } from './test/transport.behaviour';

describe('The driver inside one process', () => {
  transportBehaviour(() => {
    const hub = new InProcessHub();
    return Promise.resolve({
      connect: (maxBodyBytes = 64_000_000) => Promise.resolve(new InProcessDriver(hub, maxBodyBytes, silent)),
      stop: () => Promise.resolve(),
    });
  });
});
