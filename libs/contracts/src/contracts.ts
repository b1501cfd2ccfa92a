import { admin } from './admin/admin';
import { chat } from './chat/chat';
import { files } from './files';
import { hub } from './hub/hub';
import { tables } from './tables/tables';
import { operationsOf, type Operation } from './operation';

/** Every operation of the platform: what the gateway forwards and `/openapi.json` shows. */
export const allOperations: Operation[] = [admin, chat, files, hub, tables].flatMap(operationsOf);
