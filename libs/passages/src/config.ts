import { choice, Env, integer, text, url } from '@parley/config/config';
import { ServiceConfig } from '@parley/service/config';

export class PassagesConfig extends ServiceConfig {
  @Env({
    env: 'PASSAGE_INDEX',
    type: choice('local', 'qdrant'),
    about: 'Where passages are searched: in process over vectors kept in Postgres, or in Qdrant.',
    optional: true,
    defaultText: '`qdrant` if `QDRANT_URL` is set, else `local`',
  })
  passageIndex?: 'local' | 'qdrant';

  @Env({ env: 'QDRANT_URL', type: url('http', 'https'), about: 'Qdrant server.', optional: true })
  qdrantUrl?: string;

  @Env({ env: 'QDRANT_API_KEY', type: text(), about: 'Key of the Qdrant server.', optional: true })
  qdrantApiKey?: string;

  @Env({
    env: 'VECTOR_CACHE_MB',
    type: integer(1, 65_536),
    about: 'Memory that the local index keeps vectors in, at most.',
  })
  vectorCacheMb = 256;

  @Env({
    env: 'EMBEDDINGS_URL',
    type: url('http', 'https'),
    about: 'Server with an OpenAI-compatible `/v1/embeddings`. Without it the bundled English model is used.',
    optional: true,
  })
  embeddingsUrl?: string;

  @Env({ env: 'EMBEDDINGS_MODEL', type: text(), about: 'Model that the embedding server is asked for.' })
  embeddingsModel = 'text-embedding-3-small';

  @Env({ env: 'EMBEDDINGS_API_KEY', type: text(), about: 'Key of the embedding server.', optional: true })
  embeddingsApiKey?: string;

  @Env({
    env: 'EMBEDDINGS_TIMEOUT_MS',
    type: integer(100, 600_000),
    about: 'How long the embedding server may take for one request of up to 32 passages.',
  })
  embeddingsTimeoutMs = 30_000;

  @Env({
    env: 'EMBEDDINGS_THREADS',
    type: integer(1, 256),
    about:
      'Threads that the bundled model runs on, each as fast as one core and with 200 MB of memory. Unset, they leave a core and two thirds of the memory of a container to all else. A worker on a machine of its own may use all.',
    optional: true,
    defaultText: "one less than the machine's cores, or fewer",
  })
  embeddingsThreads?: number;
}
