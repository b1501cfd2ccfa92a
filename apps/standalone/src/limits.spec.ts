import { existsSync, readFileSync } from 'node:fs';

const page = readFileSync('docs/limits.md', 'utf8').replaceAll(/\s+/g, ' ');

/** Figures of the page that are no default of a variable, by the suite that fails when the code has another one. */
const figures: Record<string, string[]> = {
  'libs/background/src/retry-backoff.spec.ts': ['exponential backoff of 1 s, 2 s, 4 s … up to a minute'],
  'libs/contracts/src/limits.spec.ts': [
    'body of most operations | 2 MB; 1 MB for end users; 100 kB without authentication',
    'rows, passages, imported messages, interfaces | 16 MB',
    'code of a bot, an integration or a plugin | 32 MB',
    'values in a body | 100,000 JSON values; 10 million in a body with code',
    'after 10 deliveries (100 to index a file) a dead letter',
  ],
  'libs/egress/src/egress.spec.ts': ['call of a bot, and its answer | 5 MB each; headers of an answer 16 KiB'],
  'libs/json-schema/src/limits.spec.ts': [
    'check of a value against a schema | 2 s of processor time and 128 MB; 503 if it has not ended within 8 s',
  ],
  'libs/passages/src/limits.spec.ts': [
    'A passage of 512 dimensions and 130 words takes at most 800 bytes of the memory',
  ],
  'libs/persistence/src/database.spec.ts': ['queries that wait for a database connection | 2,000'],
  'libs/persistence/src/idempotency.spec.ts': [
    'a repeat within 24 hours returns the same answer',
    'A request with the same key and other input gets 400 `InvalidPayload`',
    'a repeat gets 409 `ResourceLockedConflict`',
  ],
  'libs/service/src/concurrency-limiter.spec.ts': ['rejects new requests at once: 503 with `Retry-After`'],
  'libs/service/src/limits.spec.ts': ['concurrent client operations of a service | 1,000'],
  'libs/service/src/network.spec.ts': ['(IPv6: /64)'],
  'libs/service/src/unauthenticated-share.spec.ts': [
    'Four are worked on at once, two of one network',
    'all together take at most a fifth of a busy event loop',
  ],
  'libs/transport/src/large-requests.spec.ts': ['concurrent bodies over 1 MB | 4 per service process, 2 per workspace'],
  'libs/transport/src/limits.spec.ts': ['is delivered to another process after 15 s'],
  'apps/admin/src/people/usage/usage.spec.ts': [
    'A request over a quota gets 403 `QuotaExceeded`',
    'their quota is 9007199254740991',
    '| file | 5 GB',
  ],
  'apps/files-worker/src/indexing/indexing-job.spec.ts': ['indexing of a file | the same backoff, up to 10 attempts'],
  'apps/files/src/content/content-urls.spec.ts': [
    'A URL to upload to is valid for an hour, a URL to download from for 15 minutes',
  ],
  'apps/files/src/files/files.spec.ts': ['file with `index: true` | 95 MiB', 'a larger file 413 `LimitExceeded`'],
  'apps/files/src/limits.spec.ts': [
    'concurrent downloads from a files process | 2,000',
    'at most half of them when it is alone',
  ],
  'apps/gateway/src/bodies/large-bodies.long.spec.ts': [
    '25 MB for a field with code',
    'a million may be lists, objects and fields',
    'A larger body gets 413 `PayloadTooLarge`',
  ],
  'apps/gateway/src/field-rules.spec.ts': [
    'payload of a message, state or event | 128 KiB of JSON',
    'a larger field 400 `InvalidPayload`',
  ],
  'apps/gateway/src/forwarding/chat-user.spec.ts': [
    'requests of one chat user that wait | a quarter of `GATEWAY_MAX_IN_FLIGHT`',
    'Of one chat user, sixteen requests are worked on at once, and they take at most three tenths of a busy event loop',
  ],
  'apps/gateway/src/forwarding/idempotency-key.spec.ts': ['(1 to 255 printable ASCII characters)'],
  'apps/gateway/src/limits.spec.ts': [
    'so 1000 requests in 5 s',
    'bytes of all request bodies in a gateway at once | 256 MB',
    'reading of a body over 1 MB or 10,000 values | 10 s of processor time and 384 MB; 503 if it has not ended within 30 s',
  ],
  'apps/gateway/src/rate-limits/rate-limiter.spec.ts': [
    '`RATE_LIMIT_PER_SECOND=0` turns it off',
    'A request over the limit gets 429 `RateLimited`',
  ],
  'apps/gateway/src/streams/streams.nightly.spec.ts': [
    'and 429 for new streams of live chat signals',
    'one bot may have 5 % of the streams (at least 20) and one user 20',
  ],
  'apps/gateway/src/tunnel/tunnel.spec.ts': ['of a gateway | 100, 20 of one address'],
  'apps/gateway/src/unauthenticated.spec.ts': [
    'requests without a valid credential that wait | a quarter of `GATEWAY_MAX_IN_FLIGHT`',
  ],
  'apps/hub/src/integrations/integrations.spec.ts': [
    'icon and readme of an integration, interface or plugin | 1 MiB each; in the answer with a list, icons of 4 MB together; in a bot, 100 KiB each',
  ],
  'apps/runner/src/children/load-limits.spec.ts': ['10 s of processor time to load'],
  'apps/runner/src/limits.spec.ts': [
    '256 MiB of heap, 512 MiB in all',
    '10 events and 10 actions at once',
    '2,048 open files',
    'a temporary folder of 64 MiB and 5,000 files',
  ],
  'apps/runtime/src/deliveries/deliveries.long.spec.ts': ['4xx is final'],
  'apps/runtime/src/invocations/attempts.spec.ts': [
    'after 1, 5 and 30 s, a time-out once',
    'ends of runners do not count, up to ten',
  ],
  'apps/tables/src/limits.spec.ts': ['up to 10 attempts without progress'],
  'apps/tables/src/schema/table-schema.spec.ts': ['columns of a table | 20'],
  'test/faults/shutdown.long.spec.ts': [
    'get 504 when they may have been processed, and 503 when they had not arrived completely',
  ],
};
/** Measured, not enforced. */
const measured = ['above some 100,000, use Qdrant', 'up to 80,000 on a server and 160,000 in its engine'];

const defaults = /`([A-Z_]+)` \((?:default )?([\d,]+)\)/g;

describe('docs/limits.md', () => {
  it.each(Object.entries(figures))('shows the figures that %s holds: %j', (spec, texts) => {
    expect(existsSync(spec)).toBe(true);
    for (const text of texts) expect(page).toContain(text);
  });

  it('shows the defaults of docs/configuration.md, which are those of the code', () => {
    const configuration = readFileSync('docs/configuration.md', 'utf8');
    const shown = [...page.matchAll(defaults)];

    expect(shown.length).toBeGreaterThan(5);
    for (const [, name, value] of shown)
      expect(configuration).toMatch(new RegExp(`\\| \`${name}\` +\\| \`${value!.replaceAll(',', '')}\` +\\|`));
  });

  it('shows no figure that nothing holds', () => {
    const known = [...Object.values(figures).flat(), ...measured];
    const withoutLinks = page.replaceAll(/\]\([^)]*\)|`[A-Z]+ \/[^`]*`/g, '').replaceAll(defaults, '');

    const rest = known.reduce((text, figure) => text.replaceAll(figure, ''), withoutLinks);

    expect(rest.match(/.{0,30}\d.{0,20}/g)).toBeNull();
  });
});
