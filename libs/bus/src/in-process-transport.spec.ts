import { InProcessHub, InProcessTransport } from './in-process-transport';
import { silent } from './test/probe';
import { transportBehaviour } from './test/transport.behaviour';

describe('The transport inside one process', () => {
  transportBehaviour(() => {
    const hub = new InProcessHub();
    return Promise.resolve({
      connect: (maxBodyBytes = 64_000_000) => Promise.resolve(new InProcessTransport(hub, maxBodyBytes, silent)),
      stop: () => Promise.resolve(),
    });
  });
});
