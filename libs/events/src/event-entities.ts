import type { EntityClass } from '@parley/persistence/service-schema';
import { DeadLetterEntity } from './dead-letter.entity';
import { InboxEntity } from './inbox.entity';
import { OutboxEntity, OutboxPositionEntity } from './outbox.entity';

/** Tables of events, in the schema of every service. */
export const eventEntities: EntityClass[] = [OutboxEntity, OutboxPositionEntity, InboxEntity, DeadLetterEntity];
