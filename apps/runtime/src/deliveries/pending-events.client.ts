import { Injectable } from '@nestjs/common';
import { systemCaller } from '@parley/contracts/caller';
import { deliveries, type GetPendingEvent, type PendingEventReply } from '@parley/contracts/chat/deliveries';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';

/** Asks chat, which owns the events. */
@Injectable()
export class PendingEventsClient {
  constructor(private readonly client: ParleyClient) {}

  /** The event as it is now. Empty if it is not pending, or an object that it refers to was deleted. */
  find({ botId, eventId }: GetPendingEvent): Promise<PendingEventReply> {
    return this.client.call(deliveries.getPending, systemCaller(newId('req')), { botId, eventId });
  }
}
