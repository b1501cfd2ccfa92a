import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { freePort } from '@parley/testing/free-port';
import { AdminModule } from '../../apps/admin/src/admin.module';
import { AdminConfig } from '../../apps/admin/src/config';
import { ChatConfig } from '../../apps/chat/src/config';
import { ChatModule } from '../../apps/chat/src/chat.module';
import { FilesConfig } from '../../apps/files/src/config';
import { FilesModule } from '../../apps/files/src/files.module';
import { FilesWorkerConfig } from '../../apps/files-worker/src/config';
import { FilesWorkerModule } from '../../apps/files-worker/src/files-worker.module';
import { GatewayModule } from '../../apps/gateway/src/gateway.module';
import { HubConfig } from '../../apps/hub/src/config';
import { HubModule } from '../../apps/hub/src/hub.module';
import { ModelsConfig } from '../../apps/models/src/config';
import { ModelsModule } from '../../apps/models/src/models.module';
import { RunnerConfig } from '../../apps/runner/src/config';
import { RunnerModule } from '../../apps/runner/src/runner.module';
import { RuntimeConfig } from '../../apps/runtime/src/config';
import { RuntimeModule } from '../../apps/runtime/src/runtime.module';
import { TablesConfig } from '../../apps/tables/src/config';
import { TablesModule } from '../../apps/tables/src/tables.module';

/** Sweepers do not run during a test, so that only requests change the stored rows. */
const sweepIntervalMs = 3_600_000;

/** All services with operations in this process, on their own database. Files are indexed only with an embedding server. */
export async function startAllServices({ embeddingsUrl }: { embeddingsUrl?: string } = {}): Promise<PublicApi> {
  const blobsDir = await mkdtemp(join(tmpdir(), 'parley-whole-api-'));
  const contentPort = await freePort();
  const contentUrl = `http://127.0.0.1:${contentPort}`;
  const indexing = { blobsDir, embeddingsUrl };
  const api = await startPublicApi(
    GatewayModule,
    configured(AdminModule, AdminConfig),
    configured(HubModule, HubConfig),
    configured(FilesModule, FilesConfig, { ...indexing, contentUrl, sweepIntervalMs }),
    configured(TablesModule, TablesConfig),
    configured(ChatModule, ChatConfig, { sweepIntervalMs }),
    // Calls that a cache answers would be recorded later.
    configured(ModelsModule, ModelsConfig, {
      completionsScriptFile: 'test/support/model-script.json',
      completionsCacheSeconds: 0,
    }),
    configured(RuntimeModule, RuntimeConfig),
    configured(RunnerModule, RunnerConfig, { contentUrl, isolation: 'process' }),
    ...(embeddingsUrl ? [configured(FilesWorkerModule, FilesWorkerConfig, indexing)] : []),
  );
  const files = api.apps[3]!;
  await files.listen(contentPort, '127.0.0.1');
  return {
    ...api,
    stop: async () => {
      await api.stop();
      await rm(blobsDir, { recursive: true, force: true });
    },
  };
}
