import { Env, integer, pair, text, url } from '@parley/config/config';
import { ServiceConfig } from '@parley/service/config';
import { type Calibration, calibration } from './calibration';

export class PassagesConfig extends ServiceConfig {
  @Env({
    env: 'QDRANT_URL',
    type: url('http', 'https'),
    about:
      'URL of the Qdrant server, version 1.19 or newer, that has the index for search. Without it, vectors are kept in Postgres and compared in process.',
    optional: true,
  })
  qdrantUrl?: string;

  @Env({ env: 'QDRANT_API_KEY', type: text(), about: 'API key of the Qdrant server.', optional: true })
  qdrantApiKey?: string;

  @Env({
    env: 'VECTOR_CACHE_MB',
    need: 'rarely',
    type: integer(1, 65_536),
    about: 'Memory limit in MB of the vectors that the local index caches, per process.',
  })
  vectorCacheMb = 256;

  @Env({
    env: 'EMBEDDINGS_URL',
    type: url('http', 'https'),
    about:
      'URL of a server with an OpenAI-compatible `/v1/embeddings`. Without it, the bundled model for 15 languages is used.',
    optional: true,
  })
  embeddingsUrl?: string;

  @Env({ env: 'EMBEDDINGS_MODEL', type: text(), about: 'Model name in requests to the embedding server.' })
  embeddingsModel = 'text-embedding-3-small';

  @Env({ env: 'EMBEDDINGS_API_KEY', type: text(), about: 'API key of the embedding server.', optional: true })
  embeddingsApiKey?: string;

  @Env({
    env: 'EMBEDDINGS_QUERY_PREFIX',
    need: 'rarely',
    type: text(),
    about: 'Text before each search text, where the model wants one: `query: ` for E5.',
    optional: true,
  })
  embeddingsQueryPrefix?: string;

  @Env({
    env: 'EMBEDDINGS_PASSAGE_PREFIX',
    need: 'rarely',
    type: text(),
    about:
      'Text before each passage, where the model wants one: `passage: ` for E5. Files need a re-index after a change.',
    optional: true,
  })
  embeddingsPassagePrefix?: string;

  @Env({
    env: 'EMBEDDINGS_INPUT_TYPES',
    need: 'rarely',
    type: pair(text()),
    about:
      'Values of `input_type` for search texts and for passages, where the server has the field: `search_query,search_document` for Cohere, `query,document` for Voyage.',
    optional: true,
  })
  embeddingsInputTypes?: [query: string, passage: string];

  @Env({
    env: 'EMBEDDINGS_LEAST_SCORE',
    need: 'rarely',
    type: calibration,
    about:
      'Calibration of the model: its name, and the score that nonsense hardly reaches, such as `multilingual-e5-small=0.86`. `npm run bench -- --only retrieval --calibrate` measures it.',
    optional: true,
  })
  embeddingsLeastScore?: Calibration;

  @Env({
    env: 'EMBEDDINGS_TIMEOUT_MS',
    need: 'rarely',
    type: integer(100, 600_000),
    about: 'Timeout in milliseconds of a request to the embedding server (up to 32 passages).',
  })
  embeddingsTimeoutMs = 30_000;

  @Env({
    env: 'EMBEDDINGS_THREADS',
    type: integer(1, 256),
    about:
      'Threads that the bundled model runs on, each as fast as one core and with 180 MB of memory, beside 66 MB for all. Unset, they leave a core and two thirds of the memory of a container to all else. A worker on a machine of its own may use all.',
    optional: true,
    defaultText: "one less than the machine's cores, or fewer",
  })
  embeddingsThreads?: number;
}
