import { hasNatsServer } from '@parley/testing/nats-server';
import { startDistributed, startEmbedded } from '@parley/testing/running-platform';
import { describeModelPackages } from './model-packages.behaviour';

describeModelPackages('embedded', (env) => startEmbedded({ env }));

(hasNatsServer() ? describe : describe.skip)('over NATS', () => {
  describeModelPackages('distributed', (env) => startDistributed({ isSecured: true, env }));
});
