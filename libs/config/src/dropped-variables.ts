/** Former variables that have no effect, with what holds instead. The release after the next empties the list. */
export const droppedVariables: Record<string, string> = {
  ACTIONS_PER_BOT: fixed(50),
  BLOBS: 'With S3_BUCKET, content is kept in S3, otherwise in BLOBS_DIR.',
  BUS_MAX_BODY_BYTES: fixed(64_000_000),
  CHAT_LIST_TIMEOUT_MS: fixed(5_000),
  DATABASE_MAX_WAITING: fixed(2_000),
  DELIVERIES_WAITING_PER_BOT: fixed(10_000),
  INDEXING_ATTEMPTS: fixed(10),
  INDEXING_HEARTBEAT_MS: fixed(2_500),
  LINK_ENVIRONMENT: fixed('production'),
  LISTEN_MAX_UNSENT_BYTES: fixed(1_000_000),
  LISTEN_PING_MS: fixed(30_000),
  PASSAGE_INDEX: 'With QDRANT_URL, the index is in Qdrant, otherwise in Postgres.',
  RUNNER_CODE_CACHE_MB: fixed(128),
  SERVICE_MAX_IN_FLIGHT: `${fixed(1_000)} Start more replicas of a service that needs more.`,
  TABLES_FIND_TIMEOUT_MS: fixed(5_000),
  WEBHOOKS_PER_INSTALLATION: fixed(50),
};

function fixed(value: number | string): string {
  return `The value is fixed: ${value}.`;
}

const opposites = [
  { name: 'BLOBS', value: 'folder', decides: 'S3_BUCKET', place: 'S3' },
  { name: 'PASSAGE_INDEX', value: 'local', decides: 'QDRANT_URL', place: 'Qdrant' },
];

/** Problems of dropped variables that say the opposite of what holds now: stored data would be looked for elsewhere. */
export function contradictionsIn(env: NodeJS.ProcessEnv): string[] {
  return opposites
    .filter(({ name, value, decides }) => env[name] === value && env[decides])
    .map(
      ({ name, value, decides, place }) =>
        `${name}=${value} no longer exists, and with ${decides} data is kept in ${place}. Unset ${decides} to keep data where it is, or ${name} to keep it in ${place}.`,
    );
}
