import { Env, integer, url } from '@parley/config/config';
import { ProcessConfig, tunnelUrlVariable, webhookUrlVariable } from '@parley/service/config';

export class GatewayConfig extends ProcessConfig {
  @Env({
    env: 'RATE_LIMIT_PER_SECOND',
    type: integer(0, 1_000_000),
    about:
      'Rate limit: requests per second that a gateway process accepts per token or user key. 0 turns it off, which is the default of the embedded mode on a loopback address without `TRUSTED_PROXIES`.',
  })
  rateLimitPerSecond = 200;

  @Env({
    env: 'RATE_LIMIT_BURST',
    type: integer(1, 1_000_000),
    about:
      'Rate limit: requests that may come at once, counted in a window of `RATE_LIMIT_BURST` / `RATE_LIMIT_PER_SECOND` seconds.',
  })
  rateLimitBurst = 1_000;

  @Env({
    env: 'GATEWAY_MAX_IN_FLIGHT',
    need: 'rarely',
    type: integer(1, 100_000),
    about: 'Requests that a gateway process handles concurrently. It answers further ones with 503.',
  })
  gatewayMaxInFlight = 2_000;

  @Env({
    env: 'LISTEN_MAX_STREAMS',
    need: 'rarely',
    type: integer(1, 1_000_000),
    about:
      'Open streams of live chat signals per gateway process. One bot may have 5 % of them (at least 20), and one user 20. It answers further ones with 429.',
  })
  listenMaxStreams = 10_000;

  /** Interval between pings on each stream: clients close a stream that is silent for one minute. Tests choose another. */
  listenPingMs = 30_000;

  /** The same for event streams of programs: the HTTP client of Node closes a connection that is silent for 5 s. */
  programPingMs = 4_000;

  /** Bytes that a stream buffers for a slow client. With more, it is closed. Tests choose another number. */
  listenMaxUnsentBytes = 1_000_000;

  @Env({
    env: 'TUNNEL_PORT',
    type: integer(0, 65_535),
    about: 'Port at `HOST` of the tunnel for `bp dev`; 0 turns it off.',
    optional: true,
    defaultText: '`3100` in embedded mode if `PORT` is 3000, otherwise `0`',
  })
  tunnelPort?: number;

  @Env({
    env: 'CONTENT_URL',
    need: 'always',
    type: url('http', 'https'),
    about: 'Address of the content of files, where clients send uploads. Required in distributed mode.',
    optional: true,
    defaultText: '`PUBLIC_URL`',
  })
  contentUrl?: string;

  @Env({
    env: 'CHAT_URL',
    type: url('http', 'https'),
    about: 'Base URL of the chat API, which the preview of the web chat in the console calls.',
    optional: true,
    defaultText: '`PUBLIC_URL/chat`',
  })
  chatUrl?: string;

  /** Folder of the built console, which tests choose. Default: `dist/console`. */
  consoleDir?: string;

  /** Folder of the built web chat, which tests choose. Default: `dist/webchat`. */
  webchatDir?: string;

  @Env(webhookUrlVariable) webhookUrl?: string;
  @Env(tunnelUrlVariable) tunnelUrl?: string;
}
