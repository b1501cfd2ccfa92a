import { Env, text } from '@parley/config/config';
import { PassagesConfig } from '@parley/passages/config';

/** What the files service and its worker share: where content, vectors and their model are. */
export class FileStoreConfig extends PassagesConfig {
  @Env({
    env: 'BLOBS_DIR',
    type: text('a folder'),
    about:
      'Folder that content is kept in, shared by the files service and its workers. Inside the data folder in embedded mode.',
  })
  blobsDir!: string;
}
