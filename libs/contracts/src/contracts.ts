import { admin } from './admin/admin';
import { chat } from './chat/chat';
import { files } from './files';
import { hub } from './hub/hub';
import { models } from './models/models';
import { runner } from './runner/runner';
import { runtime } from './runtime/runtime';
import { tables } from './tables/tables';
import { operationsOf, type Operation } from './operation';

export const allOperations: Operation[] = [admin, chat, files, hub, models, runner, runtime, tables].flatMap(
  operationsOf,
);
