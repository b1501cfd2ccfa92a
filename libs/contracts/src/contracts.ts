import { admin } from './admin/admin';
import { chat } from './chat/chat';
import { files } from './files';
import { hub } from './hub/hub';
import { tables } from './tables/tables';
import { operationsOf, type Operation, type Route } from './operation';

/** Every operation of the platform: what the gateway forwards and `/openapi.json` shows. */
export const allOperations: Operation[] = [admin, chat, files, hub, tables].flatMap(operationsOf);

/**
 * Routes of the public client that no operation answers, and that the route of another operation would match: the
 * gateway answers them like any unknown path.
 */
export const missingRoutes: Route[] = ['GET /v1/admin/integrations/{id}/logs'];
