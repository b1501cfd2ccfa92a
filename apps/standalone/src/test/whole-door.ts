import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { AdminModule } from '../../../admin/src/admin.module';
import { FilesConfig } from '../../../files/src/config';
import { FilesModule } from '../../../files/src/files.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';

/** Every service that answers operations, in this process, on a database of its own. */
export async function startWholeDoor(): Promise<FrontDoor> {
  const blobsDir = await mkdtemp(join(tmpdir(), 'parley-whole-door-'));
  const files: Parameters<typeof startFrontDoor>[1] = {
    register: (settings, platform) =>
      FilesModule.register(
        Object.assign(new FilesConfig(), settings, { blobsDir, contentUrl: 'http://content.test' }),
        platform,
      ),
  };
  const door = await startFrontDoor(GatewayModule, AdminModule, HubModule, files);
  return {
    ...door,
    stop: async () => {
      await door.stop();
      await rm(blobsDir, { recursive: true, force: true });
    },
  };
}
