import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { AdminModule } from '../../../admin/src/admin.module';
import { AdminConfig } from '../../../admin/src/config';
import { FilesConfig } from '../../../files/src/config';
import { FilesModule } from '../../../files/src/files.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubConfig } from '../../../hub/src/config';
import { HubModule } from '../../../hub/src/hub.module';

type App = Parameters<typeof startFrontDoor>[1];

/** Every service that answers operations, in this process, on a database of its own. */
export async function startWholeDoor(): Promise<FrontDoor> {
  const blobsDir = await mkdtemp(join(tmpdir(), 'parley-whole-door-'));
  const admin: App = {
    register: (settings, platform) => AdminModule.register(Object.assign(new AdminConfig(), settings), platform),
  };
  const hub: App = {
    register: (settings, platform) => HubModule.register(Object.assign(new HubConfig(), settings), platform),
  };
  const files: App = {
    register: (settings, platform) => {
      const config = Object.assign(new FilesConfig(), settings, { blobsDir, contentUrl: 'http://content.test' });
      return FilesModule.register(config, platform);
    },
  };
  const door = await startFrontDoor(GatewayModule, admin, hub, files);
  return {
    ...door,
    stop: async () => {
      await door.stop();
      await rm(blobsDir, { recursive: true, force: true });
    },
  };
}
