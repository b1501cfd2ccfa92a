import { Env, integer } from '@parley/config/config';
import { ProcessConfig } from '@parley/service/config';

export class GatewayConfig extends ProcessConfig {
  @Env({
    env: 'RATE_LIMIT_PER_SECOND',
    type: integer(0, 1_000_000),
    about:
      'How many requests a second one credential may make in the long run, at each gateway; 0 sets no limit, which is the default of the embedded mode on a loopback address.',
  })
  rateLimitPerSecond = 200;

  @Env({
    env: 'RATE_LIMIT_BURST',
    type: integer(1, 1_000_000),
    about: 'How many of them may come at once. They are counted for as long as the limit allows so many.',
  })
  rateLimitBurst = 1_000;

  @Env({
    env: 'GATEWAY_MAX_IN_FLIGHT',
    type: integer(1, 100_000),
    about: 'How many requests a gateway works on at once. The next one is answered 503 at once.',
  })
  gatewayMaxInFlight = 2_000;

  @Env({
    env: 'LISTEN_MAX_STREAMS',
    type: integer(1, 1_000_000),
    about:
      'How many streams of conversations a gateway holds: 5 % of them (at least 20) for one bot, and 20 for one user. The next one is answered 429.',
  })
  listenMaxStreams = 10_000;

  @Env({
    env: 'LISTEN_PING_MS',
    type: integer(100, 55_000),
    about: 'How often every stream of a conversation gets a ping. Clients give one up that says nothing for a minute.',
  })
  listenPingMs = 30_000;

  @Env({
    env: 'LISTEN_MAX_UNSENT_BYTES',
    type: integer(1_000, 100_000_000),
    about: 'How much a stream keeps for a client that reads too slowly before it is closed.',
  })
  listenMaxUnsentBytes = 1_000_000;
}
