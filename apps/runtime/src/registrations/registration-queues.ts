import type { PendingRegistration } from '@parley/contracts/admin/registrations';
import { type NewWork, queue } from '@parley/work-queue/queue';

/** Bots that were deployed, by id. A deployment during a registration registers once more. */
export const registrations = queue('runtime.registrations', { repeated: 'again' });

export interface RegistrationPayload extends PendingRegistration {
  botId: string;
}

/** Installations that integrations have to be notified about, in order for each alias: the end of a former one comes first. */
export const integrationRegistrations = queue<RegistrationPayload>('runtime.integrationRegistrations', {
  repeated: 'again',
  isOrdered: true,
});

export function toWork(botId: string, registrations: PendingRegistration[]): NewWork<RegistrationPayload>[] {
  return registrations.map(({ kind, id, alias }) => ({
    key: `${botId}/${kind}/${id}`,
    // Work of a deleted bot is erased, but its integrations have to be notified.
    tenant: kind === 'unregister' ? id : botId,
    payload: { botId, kind, id, alias },
    orderingKey: `${botId}/${alias}`,
  }));
}
