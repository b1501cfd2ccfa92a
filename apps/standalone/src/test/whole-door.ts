import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configured, type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { freePort } from '@parley/testing/nats-server';
import { AdminModule } from '../../../admin/src/admin.module';
import { AdminConfig } from '../../../admin/src/config';
import { FilesConfig } from '../../../files/src/config';
import { FilesModule } from '../../../files/src/files.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubConfig } from '../../../hub/src/config';
import { HubModule } from '../../../hub/src/hub.module';
import { TablesConfig } from '../../../tables/src/config';
import { TablesModule } from '../../../tables/src/tables.module';

/** Every service that answers operations, in this process, on a database of its own. */
export async function startWholeDoor(): Promise<FrontDoor> {
  const blobsDir = await mkdtemp(join(tmpdir(), 'parley-whole-door-'));
  const contentPort = await freePort();
  const contentUrl = `http://127.0.0.1:${contentPort}`;
  const door = await startFrontDoor(
    GatewayModule,
    configured(AdminModule, AdminConfig),
    configured(HubModule, HubConfig),
    configured(FilesModule, FilesConfig, { blobsDir, contentUrl }),
    configured(TablesModule, TablesConfig),
  );
  const files = door.apps[3]!;
  await files.listen(contentPort, '127.0.0.1');
  return {
    ...door,
    stop: async () => {
      await door.stop();
      await rm(blobsDir, { recursive: true, force: true });
    },
  };
}
