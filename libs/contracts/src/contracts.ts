import { admin } from './admin/admin';
import { chat } from './chat/chat';
import { files } from './files';
import { hub } from './hub/hub';
import { runtime } from './runtime/runtime';
import { tables } from './tables/tables';
import { operationsOf, type Operation, type Route } from './operation';

export const allOperations: Operation[] = [admin, chat, files, hub, runtime, tables].flatMap(operationsOf);

/**
 * Routes of the public client without an operation, which the route of another operation would match. The gateway
 * answers them as unknown paths.
 */
export const missingRoutes: Route[] = ['GET /v1/admin/integrations/{id}/logs'];
